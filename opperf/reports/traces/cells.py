"""Names, amounts and columns of the reports on traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opperf.reports.model import Column, Section, figures, numbers
from opperf.results.units import Figure, Unit, choose_unit, format_figure
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


def counts(title: str, found: Iterable[int], extra: int = 0) -> Column:
    """Returns a column of numbers."""
    return numbers(title, [f"{number:,}" for number in found], extra)


def amounts(title: str, found: Iterable[int | None], unit: Unit | str, extra: int = 0) -> Column:
    """Returns a column of times (`ns`) or sizes (`B`), without those that are unknown: negative, or
    None."""
    return figures(title, _figures(found), unit, extra)


def _figures(found: Iterable[int | None]) -> list[Figure | str | None]:
    return [None if value is None or value < 0 else Figure(value) for value in found]


def alike(titles: Iterable[str], found: Sequence[Sequence[int | None]]) -> list[Column]:
    """Returns columns of times in nanoseconds, all in one unit, as they are compared."""
    every = [figure for column in found for figure in _figures(column)]
    unit = choose_unit("ns", [figure for figure in every if isinstance(figure, Figure)])
    return [amounts(title, column, unit) for title, column in zip(titles, found, strict=True)]


def known(column: Column) -> tuple[Column, ...]:
    """Returns a column if it has any figure or text."""
    return (column,) if any(cell.value not in (None, "") for cell in column.cells) else ()


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


def first_rows(height: int, most: int = MOST_ROWS) -> tuple[tuple[int, ...] | None, str]:
    """Returns which rows of a table a terminal shows, None for all, and a line on the others."""
    if height <= most:
        return None, ""
    return tuple(range(most)), f"and {height - most:,} more; --format json has all"
