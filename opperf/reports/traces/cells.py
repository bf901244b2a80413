"""Names, amounts and columns of the reports on traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opperf.reports.model import ColumnKind, Section
from opperf.results.units import Figure, choose_unit, format_figure
from opperf.traces.anomalies import Anomalies, anomaly_values, sentences

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
    text = shown_whole(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


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
