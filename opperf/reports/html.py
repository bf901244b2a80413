"""A report as HTML, without scripts and external resources: a fragment for a page, or a page."""

from __future__ import annotations

from typing import NamedTuple

from opperf.reports.flame_graph import content_of
from opperf.reports.model import Cell, Column, Report
from opperf.reports.templates import render

TEMPLATE = "report.html.jinja"
"""The fragment's text, beside this module."""


class ShownCell(NamedTuple):
    """A cell as text."""

    text: str
    classes: str
    note: str
    depth: int


def write_html(report: Report, width: int | None = None) -> str:
    """Returns the fragment, with every row."""
    return render(__package__, TEMPLATE, fragment_content(report))


def fragment_content(report: Report) -> dict[str, object]:
    """Returns the variables of the template."""
    return {"report": report, "captioned": True, "rows": _rows, "drawn": content_of}


def _rows(columns: tuple[Column, ...]) -> list[tuple[ShownCell, ...]]:
    cells = (
        map(_shown, [column] * len(column.cells), column.whole(), column.cells)
        for column in columns
    )
    return list(zip(*cells, strict=True))


def _shown(column: Column, text: str, cell: Cell) -> ShownCell:
    classes = " ".join(filter(None, ("number" if column.is_number else "", cell.tone)))
    return ShownCell(text.strip(), classes, cell.note, cell.depth)
