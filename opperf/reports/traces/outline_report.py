"""The report on the nodes of a trace as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opperf.reports.fields import COUNT, NAME, TIME, Field, objects_of, rows_of, table_of
from opperf.reports.model import Cell, Report, Section
from opperf.reports.traces.cells import COMMAND, anomaly_section, known, shown, with_anomalies
from opperf.traces.anomalies import anomaly_values
from opperf.traces.outline import Row
from opperf.traces.trace import Trace

FIELDS: tuple[Field[Row], ...] = (
    Field("depth", None, COUNT, lambda row: row.depth),
    Field(
        "name",
        "Nodes",
        NAME,
        lambda row: shown(row.name),
        lambda row: Cell(shown(row.name), depth=row.depth),
    ),
    Field("nodes", "Times", COUNT, lambda row: row.nodes),
    Field("first_node", None, COUNT, lambda row: row.first or None),
    Field("calls", "Calls", COUNT, lambda row: row.calls),
    Field("recorded_ns", "Recorded", TIME, lambda row: known(row.time_ns), is_optional=True),
    Field("", "First", COUNT, lambda row: row.first or None),
)


def outline_section(rows: Sequence[Row], title: str = "") -> Section:
    """Returns the section with a tree."""
    return Section(title=title, table=table_of(FIELDS, rows, is_ranked=True))


def report_of(trace: Trace, rows: Sequence[Row]) -> Report:
    """Returns the report on the tree of a trace."""
    sections = [anomaly_section(("", trace.anomalies)), outline_section(rows)]
    return Report(
        COMMAND,
        "",
        [section for section in sections if section.has_content],
        {"trace": trace.name, "anomalies": anomaly_values(trace.anomalies), "tree": nested(rows)},
        *with_anomalies(*rows_of(FIELDS, rows), ("", trace.anomalies)),
        headline="Nodes of a trace",
    )


def nested(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns rows as values of JSON, each with those below it."""
    tops: list[dict[str, Any]] = []
    above: list[list[dict[str, Any]]] = [tops]
    for row in rows:
        (made,) = objects_of(FIELDS, [row])
        made = {key: value for key, value in made.items() if key != "depth"} | {"below": []}
        del above[row.depth + 1 :]
        above[row.depth].append(made)
        above.append(made["below"])
    return tops
