"""A registry as text, Markdown, CSV and values for JSON: its operators, or its categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from opperf.model import ListedOperator, Parameter
from opperf.plurals import pluralize
from opperf.reports.model import Cell, Column, Report, Section, Table, numbers, words


def parameter_text(parameter: Parameter) -> str:
    """Returns a parameter as in a signature: `axis=None`, or the name alone if it is required."""
    if parameter.required or parameter.default is None:
        return parameter.name
    return f"{parameter.name}={parameter.default}"


class Field(NamedTuple):
    """A column of the list of operators."""

    title: str
    read: Callable[[ListedOperator], str]
    wraps: bool = False
    is_number: bool = False


FIELDS = (
    Field("Operator", lambda listed: listed.operator.label),
    Field(
        "Cases", lambda listed: "" if listed.cases is None else str(listed.cases), is_number=True
    ),
    Field("Category", lambda listed: listed.operator.category),
    Field(
        "Parameters",
        lambda listed: ", ".join(map(parameter_text, listed.operator.parameters)),
        wraps=True,
    ),
    Field("Rule", lambda listed: listed.rule or "none"),
    Field("Aliases", lambda listed: ", ".join(listed.operator.aliases), wraps=True),
    Field("Namespace", lambda listed: listed.operator.namespace),
)
"""Columns of the list, the most important first."""

ALWAYS = 3
"""Columns that a narrow terminal shows as well."""


def operators_report(operators: Sequence[ListedOperator]) -> Report:
    """Returns a row for each operator; of a single one, also what its cases stand for."""
    cells = [[field.read(listed) for listed in operators] for field in FIELDS]
    columns = tuple(
        Column(
            field.title,
            [Cell(text) for text in own],
            is_number=field.is_number,
            wraps=field.wraps,
            is_whole=not field.wraps,
            # The first are the most important.
            extra=max(0, index + 1 - ALWAYS),
        )
        for index, (field, own) in enumerate(zip(FIELDS, cells, strict=True))
    )
    whys = operators[0].whys if len(operators) == 1 else ()
    closing = _closing(operators)
    return Report(
        command="list",
        title="",
        sections=(
            Section(table=Table(columns, is_ranked=True)),
            Section(closing, items=whys) if whys else Section(prose=[closing]),
        ),
        data=list(operators),
        header=[field.title.lower() for field in FIELDS],
        rows=[list(row) for row in zip(*cells, strict=True)],
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
    members: dict[str, list[ListedOperator]] = {}
    for listed in operators:
        members.setdefault(listed.operator.category, []).append(listed)
    return [
        Category(name, len(found), sum(listed.cases or 0 for listed in found))
        for name, found in sorted(members.items())
    ]


def categories_report(operators: Sequence[ListedOperator]) -> Report:
    """Returns a report with a row for each category."""
    found = categories(operators)
    columns = (
        words("Category", [row.category for row in found]),
        numbers("Operators", [str(row.operators) for row in found]),
        numbers("Cases", [str(row.cases) for row in found]),
    )
    number = len(found)
    closing = f"{number} {'category' if number == 1 else 'categories'}, {_closing(operators)}"
    return Report(
        command="list",
        title="",
        sections=(Section(table=Table(columns)), Section(prose=[closing])),
        data=[row._asdict() for row in found],
        header=Category._fields,
        rows=found,
    )
