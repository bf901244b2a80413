"""A registry as text, Markdown, CSV and values for JSON: its operators, or its categories."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from opperf.model import ListedOperator, Parameter
from opperf.plurals import pluralize
from opperf.results.markdown import grid
from opperf.results.terminal import GAP, Column, table_text
from opperf.results.text import wrap

LEAST_WRAPPED = 24
"""Fewest characters of a column of parameters or aliases, most of which then take few lines."""


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
        "Cases",
        lambda listed: "" if listed.cases is None else str(listed.cases),
        is_number=True,
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
"""Columns of the list, ordered by importance. The cell of an operator whose inputs have to be
searched for has no number of cases."""

ALWAYS = 3
"""Columns that a narrow terminal shows as well."""


def list_text(operators: Sequence[ListedOperator], width: int | None = None) -> str:
    """Returns a table with a row for each operator, no wider than `width`: long texts wrap, and the
    last columns go if they do not fit. Of a single operator, also what its cases stand for."""
    columns = [
        Column(
            field.title,
            [field.read(listed) for listed in operators],
            is_text=not field.is_number,
            wraps=field.wraps,
            is_whole=not field.wraps,
        )
        for field in FIELDS
    ]
    shown = columns if width is None else _fitting(columns, width)
    left = [column.title.lower() for column in columns if column not in shown]
    lines = [table_text(shown, width), "", _closing(operators)]
    if len(operators) == 1 and operators[0].whys:
        lines[-1] += ":"
        lines += [f"- {why}" for why in operators[0].whys]
    if left:
        lines.append(f"No room for {', '.join(left)}; --format json has all.")
    return "\n".join(wrap(line, width) if width and i else line for i, line in enumerate(lines))


def _fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """Returns the columns that fit in this width, the first ones in any case."""
    shown = list(columns[:ALWAYS])
    taken = sum(column.width + GAP for column in shown) - GAP
    for column in columns[ALWAYS:]:
        least = min(column.width, LEAST_WRAPPED) if column.wraps else column.width
        if taken + GAP + least <= width:
            shown.append(column)
            taken += GAP + least
    return shown


def _closing(operators: Sequence[ListedOperator]) -> str:
    """Returns the numbers of operators and of cases."""
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


def categories_text(operators: Sequence[ListedOperator], width: int | None = None) -> str:
    """Returns a table with a row for each category, no wider than `width`."""
    found = categories(operators)
    columns = [
        Column("Category", [category.category for category in found], wraps=True),
        Column("Operators", [str(category.operators) for category in found], is_text=False),
        Column("Cases", [str(category.cases) for category in found], is_text=False),
    ]
    number = len(found)
    closing = f"{number} {'category' if number == 1 else 'categories'}, {_closing(operators)}"
    return f"{table_text(columns, width)}\n\n{wrap(closing, width) if width else closing}"


Content = tuple[Sequence[str], list[list[str]]]
"""Titles and rows of a table."""


def operator_rows(operators: Sequence[ListedOperator]) -> Content:
    """Returns the table of the operators, with all columns."""
    rows = [[field.read(listed) for field in FIELDS] for listed in operators]
    return [field.title for field in FIELDS], rows


def category_rows(operators: Sequence[ListedOperator]) -> Content:
    """Returns the table of the categories."""
    rows = [[str(value) for value in category] for category in categories(operators)]
    return [name.capitalize() for name in Category._fields], rows


def csv_of(content: Content) -> str:
    """Returns a table as CSV, with titles as programs write them: `max_time`."""
    titles, rows = content
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([title.lower().replace(" ", "_") for title in titles])
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def markdown_of(content: Content) -> str:
    """Returns a table as Markdown."""
    titles, rows = content
    return grid(titles, rows, text_columns=len(titles))


def operators_as_values(operators: Sequence[ListedOperator]) -> Any:
    """Returns the operators as values for JSON."""
    return list(operators)


def categories_as_values(operators: Sequence[ListedOperator]) -> Any:
    """Returns the categories as values for JSON."""
    return [category._asdict() for category in categories(operators)]
