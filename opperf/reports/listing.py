"""A registry as text, Markdown, CSV and values for JSON: its operators, or its categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.model import ListedOperator, Parameter
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, NUMBER, TEXT, WORD, Field, objects_of, rows_of, table_of
from opperf.reports.model import Report, Section
from opperf.results.projection import group


def parameter_text(parameter: Parameter) -> str:
    """Returns a parameter as in a signature: `axis=None`, or the name alone if it is required."""
    if parameter.required or parameter.default is None:
        return parameter.name
    return f"{parameter.name}={parameter.default}"


FIELDS: tuple[Field[ListedOperator], ...] = (
    Field("operator", "Operator", LABEL, lambda listed: listed.operator.label),
    Field("cases", "Cases", NUMBER, lambda listed: listed.cases),
    Field("category", "Category", LABEL, lambda listed: listed.operator.category),
    Field(
        "parameters",
        "Parameters",
        TEXT,
        lambda listed: list(map(parameter_text, listed.operator.parameters)),
        extra=1,
    ),
    Field("rule", "Rule", LABEL, lambda listed: listed.rule or "none", extra=2),
    Field("aliases", "Aliases", TEXT, lambda listed: listed.operator.aliases, extra=3),
    Field("namespace", "Namespace", LABEL, lambda listed: listed.operator.namespace, extra=4),
)
"""Columns of the list, the most important first; a narrow terminal shows three as well."""


def operators_report(operators: Sequence[ListedOperator]) -> Report:
    """Returns a row for each operator; of a single one, also what its cases stand for."""
    whys = operators[0].whys if len(operators) == 1 else ()
    closing = _closing(operators)
    return Report(
        "list",
        "",
        (
            Section(table=table_of(FIELDS, operators, is_ranked=True)),
            Section(closing, items=whys) if whys else Section(prose=[closing]),
        ),
        list(operators),
        *rows_of(FIELDS, operators),
    )


def _closing(operators: Sequence[ListedOperator]) -> str:
    cases = pluralize(sum(listed.cases or 0 for listed in operators), "case")
    without = sum(not listed.rule for listed in operators)
    searched = sum(listed.cases is None for listed in operators)
    return ", ".join(
        (
            pluralize(len(operators), "operator"),
            cases,
            *([f"{without} without a rule"] if without else []),
            *([f"{searched} with inputs to search for"] if searched else []),
        )
    )


class Category(NamedTuple):
    """A category, and the numbers of its operators and of their cases."""

    category: str
    operators: int
    cases: int


def categories(operators: Iterable[ListedOperator]) -> list[Category]:
    """Returns the categories of these operators, sorted by name."""
    listed = list(operators)
    members = group(listed, (entry.operator.category for entry in listed))
    return [
        Category(name, len(own), sum(entry.cases or 0 for entry in own))
        for name, own in sorted(members.items())
    ]


CATEGORY_FIELDS: tuple[Field[Category], ...] = (
    Field("category", "Category", WORD, lambda row: row.category),
    Field("operators", "Operators", NUMBER, lambda row: row.operators),
    Field("cases", "Cases", NUMBER, lambda row: row.cases),
)


def categories_report(operators: Sequence[ListedOperator]) -> Report:
    """Returns a report with a row for each category."""
    found = categories(operators)
    number = len(found)
    closing = f"{number} {'category' if number == 1 else 'categories'}, {_closing(operators)}"
    return Report(
        "list",
        "",
        (Section(table=table_of(CATEGORY_FIELDS, found)), Section(prose=[closing])),
        objects_of(CATEGORY_FIELDS, found),
        *rows_of(CATEGORY_FIELDS, found),
    )
