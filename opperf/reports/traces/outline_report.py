"""The report on the nodes of a trace as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opperf.reports.model import Cell, Column, Report, Section, Table
from opperf.reports.traces.cells import (
    COMMAND,
    amounts,
    anomaly_section,
    counts,
    known,
    shown,
    with_anomalies,
)
from opperf.traces.anomalies import anomaly_values
from opperf.traces.outline import Row
from opperf.traces.trace import Trace

HEADER = ("depth", "name", "nodes", "first_node", "calls", "recorded_ns")

TITLE = "Nodes"


def outline_section(rows: Sequence[Row], title: str = "") -> Section:
    """Returns the section with a tree."""
    return Section(title=title, table=_table(rows))


def report_of(trace: Trace, rows: Sequence[Row]) -> Report:
    """Returns the report on the tree of a trace."""
    sections = [anomaly_section(("", trace.anomalies)), outline_section(rows)]
    return Report(
        COMMAND,
        "",
        [section for section in sections if section.has_content],
        {"trace": trace.name, "anomalies": anomaly_values(trace.anomalies), "tree": nested(rows)},
        *with_anomalies(
            HEADER,
            [
                (
                    row.depth,
                    shown(row.name),
                    row.nodes,
                    row.first or "",
                    row.calls,
                    "" if row.time_ns < 0 else row.time_ns,
                )
                for row in rows
            ],
            ("", trace.anomalies),
        ),
        headline="Nodes of a trace",
    )


def _table(rows: Sequence[Row]) -> Table:
    tree = Column(TITLE, [Cell(shown(row.name), depth=row.depth) for row in rows], is_name=True)
    firsts = [f"{row.first:,}" if row.first else "" for row in rows]
    return Table(
        (
            tree,
            counts("Times", [row.nodes for row in rows]),
            counts("Calls", [row.calls for row in rows]),
            *known(amounts("Recorded", [row.time_ns for row in rows], "ns")),
            Column("First", [Cell(text) for text in firsts], is_number=True),
        ),
        is_ranked=True,
    )


def nested(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns rows as values of JSON, each with those below it."""
    tops: list[dict[str, Any]] = []
    above: list[list[dict[str, Any]]] = [tops]
    for row in rows:
        made: dict[str, Any] = {
            "name": row.name,
            "nodes": row.nodes,
            "first_node": row.first or None,
            "calls": row.calls,
            "recorded_ns": None if row.time_ns < 0 else row.time_ns,
            "below": [],
        }
        del above[row.depth + 1 :]
        above[row.depth].append(made)
        above.append(made["below"])
    return tops
