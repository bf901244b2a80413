"""A report as a fragment of HTML for a page, without scripts and external resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opperf.reports.model import Cell, Column, Report

TEMPLATE = "report.html.jinja"
"""The fragment's text, beside this module."""


class ShownCell(NamedTuple):
    """A cell as text."""

    text: str
    classes: str
    note: str


def write_html(report: Report, width: int | None = None) -> str:
    """Returns the fragment, with every row."""
    return render(__package__, TEMPLATE, {"report": report, "rows": _rows})


def render(package: str, template: str, content: Mapping[str, Any]) -> str:
    """Returns a template of a package with its variables. Text is escaped."""
    # Costs some 50 ms to import, and only this form needs it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package, "."),
        # Names and messages from a file may hold markup.
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(content)


def _rows(columns: tuple[Column, ...]) -> list[tuple[ShownCell, ...]]:
    cells = (
        map(_shown, [column] * len(column.cells), column.whole(), column.cells)
        for column in columns
    )
    return list(zip(*cells, strict=True))


def _shown(column: Column, text: str, cell: Cell) -> ShownCell:
    classes = " ".join(filter(None, ("number" if column.is_number else "", cell.tone)))
    return ShownCell(text, classes, cell.note)
