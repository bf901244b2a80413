"""A ranking as text for a terminal, and as Markdown."""

from __future__ import annotations

from opperf.model import Run
from opperf.results.hotspots.data import Hotspots, find_hotspots, has_counts
from opperf.results.hotspots.tables import (
    SHOWN,
    SHOWN_SHORT,
    Table,
    cases_table,
    marks,
    ranking_table,
    summary,
    unmeasured_table,
)
from opperf.results.markdown import grid
from opperf.results.table import wrap_all
from opperf.results.terminal import table_text


def hotspots_text(found: Hotspots, most: int | None = None, width: int | None = None) -> str:
    """Returns the ranking, no wider than `width`. `most` are the operators that are shown."""
    most = most or SHOWN
    tables = _tables(found, most, width)
    sections = [
        wrap_all(summary(found), width),
        *(_table_text(table, width) for table in tables),
        wrap_all(marks(found, most), width),
    ]
    return "\n\n".join(section for section in sections if section)


def short_text(run: Run, width: int | None = None) -> str:
    """Returns the first operators of a run's ranking; empty if each case was seen once, or none
    was measured."""
    if not has_counts(run.records):
        return ""
    # The summary of the run lists the operators without a case.
    found = find_hotspots([run])._replace(excluded={})
    if not found.rows:
        return ""
    table = _table_text(ranking_table(found, SHOWN_SHORT, width), width)
    legend = marks(found, SHOWN_SHORT)
    sections = [wrap_all(summary(found), width), table, wrap_all(legend, width)]
    return "\n\n".join(filter(None, sections))


def hotspots_markdown(found: Hotspots, most: int | None = None) -> str:
    """Returns the ranking as a Markdown page."""
    most = most or SHOWN
    sections = [
        "# Operators by time",
        "\n".join(f"- {sentence}" for sentence in summary(found)),
        *map(_grid, _tables(found, most, None)),
        *marks(found, most),
    ]
    return "\n\n".join(sections)


def _tables(found: Hotspots, most: int, width: int | None) -> list[Table]:
    """Returns the tables that have rows."""
    rows = found.rows[:most]
    tables = [
        ranking_table(found, most, width),
        *([cases_table(found, rows, width)] if found.by != "case" else []),
        unmeasured_table(found.unmeasured, most),
    ]
    return [table for table in tables if table.columns[0].cells]


def _table_text(table: Table, width: int | None) -> str:
    text = table_text(table.columns, width)
    return f"{text}\n{table.more}" if table.more else text


def _grid(table: Table) -> str:
    texts = [column for column in table.columns if column.is_text]
    numbers = [column for column in table.columns if not column.is_text]
    columns = [*texts, *numbers]
    rows = zip(*(column.cells for column in columns), strict=True)
    made = grid([column.title for column in columns], rows, len(texts))
    return f"{made}\n\n{table.more}" if table.more else made
