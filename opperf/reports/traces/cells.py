"""Names, amounts and columns of the reports on traces, and the report on the nodes of one as a
tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opperf.reports.fields import COUNT, NAME, TIME, Field, objects_of, rows_of, table_of
from opperf.reports.model import Cell, ColumnKind, Report, Section
from opperf.results.text import truncate
from opperf.results.units import Figure, choose_unit, format_figure
from opperf.traces.anomalies import Anomalies, anomaly_values, sentences
from opperf.traces.outline import Row
from opperf.traces.trace import Trace

COMMAND = "trace"
"""The command that makes these reports."""

LONGEST = 100
"""Most characters of a name of a trace in a report: templates of C++ make some of thousands."""

MOST_ROWS = 20
"""Rows of a table on a terminal; files have all."""


def shown_whole(text: str) -> str:
    """Returns a text of a trace, without what would move a terminal's cursor."""
    return "".join(character if character.isprintable() else "?" for character in text)


def shown(name: str) -> str:
    """Returns a name of a trace so, and cut."""
    return truncate(shown_whole(name), LONGEST)


def amount(value: int, unit: str) -> str:
    """Returns a time in nanoseconds (`ns`) or a size (`B`) in a unit that suits it; `unknown` if it
    is negative."""
    if value < 0:
        return "unknown"
    figure = Figure(value)
    chosen = choose_unit(unit, [figure])
    return f"{format_figure(figure, chosen).value} {chosen.name}"


TRACE_NAME = ColumnKind(shown, is_name=True)

TRACE_WORD = ColumnKind(shown)


def known(value: int) -> int | None:
    """Returns a time, size or number; None if it is unknown: negative."""
    return None if value < 0 else value


def anomaly_section(*found: tuple[str, Anomalies]) -> Section:
    """Returns the section on what is wrong in traces, each with its label, empty of the only
    one."""
    return Section(
        title="Anomalies",
        items=[
            shown_whole(line) for label, anomalies in found for line in sentences(anomalies, label)
        ],
    )


ANOMALY_HEADER = ("anomaly", "events", "message")
"""Columns of CSV in which a trace's anomalies have rows of their own."""


def with_anomalies(
    header: Sequence[str], rows: Iterable[Sequence[Any]], *found: tuple[str, Anomalies]
) -> tuple[tuple[str, ...], list[Sequence[Any]]]:
    """Returns the header and rows of CSV with those on what is wrong in traces, each with its
    name."""
    blank = ("",) * len(ANOMALY_HEADER)
    own = ("",) * (len(header) - 1)
    return (*header, *ANOMALY_HEADER), [
        *((*row, *blank) for row in rows),
        *(
            (name if header[0] == "trace" else "", *own, *value.values())
            for name, anomalies in found
            for value in anomaly_values(anomalies)
        ),
    ]


OUTLINE: tuple[Field[Row], ...] = (
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
    return Section(title=title, table=table_of(OUTLINE, rows, is_ranked=True))


def outline_report(trace: Trace, rows: Sequence[Row]) -> Report:
    """Returns the report on the tree of a trace."""
    sections = [anomaly_section(("", trace.anomalies)), outline_section(rows)]
    return Report(
        COMMAND,
        "",
        [section for section in sections if section.has_content],
        {"trace": trace.name, "anomalies": anomaly_values(trace.anomalies), "tree": nested(rows)},
        *with_anomalies(*rows_of(OUTLINE, rows), ("", trace.anomalies)),
        headline="Nodes of a trace",
    )


def nested(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns rows as values of JSON, each with those below it."""
    tops: list[dict[str, Any]] = []
    above: list[list[dict[str, Any]]] = [tops]
    for row in rows:
        (made,) = objects_of(OUTLINE, [row])
        made = {key: value for key, value in made.items() if key != "depth"} | {"below": []}
        del above[row.depth + 1 :]
        above[row.depth].append(made)
        above.append(made["below"])
    return tops
