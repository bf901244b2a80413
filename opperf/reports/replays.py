"""Replays of traces: the times of their operators beside the recorded ones, and what was left
out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from opperf.model import Part, Record
from opperf.plurals import pluralize
from opperf.reports.model import Report, Section, Table, figures, names, numbers, texts
from opperf.results.units import Figure

MOST_ROWS = 25
"""Most operators that a table on a terminal has; a step of a large model calls a hundred."""

HEADER = ("id", "replay", *Part.__struct_fields__)


def replayed(records: Iterable[Record]) -> list[Record]:
    """Returns the records of replays."""
    return [record for record in records if record.parts]


def report_of(records: Iterable[Record]) -> Report:
    """Returns the operators of replays, those that took longest first."""
    found = replayed(records)
    return Report(
        command="run",
        title="Replays",
        sections=tuple(section for record in found for section in sections_of(record)),
        data={"replays": [_values(record) for record in found]},
        header=HEADER,
        rows=[
            [record.id, record.case.label, *(getattr(part, name) for name in HEADER[2:])]
            for record in found
            for part in record.parts
        ],
    )


def _values(record: Record) -> dict[str, Any]:
    return {"id": record.id, "replay": record.case.label, "operators": record.parts}


def sections_of(record: Record) -> Iterator[Section]:
    """Yields the table of a replay's operators, and that of the calls that it omits; nothing of any
    other record."""
    parts = record.parts
    if not parts:
        return
    total = sum(part.time_ns or 0.0 for part in parts)
    has_recorded = any(part.recorded_ns is not None for part in parts)
    columns = [
        names("Operator", [part.name for part in parts]),
        numbers("Calls", [f"{part.calls:,}" for part in parts]),
        numbers("Replayed", [f"{part.made:,}" for part in parts]),
        figures("Time", [_figure(part.time_ns) for part in parts], "ns"),
        numbers("Share", [_share(part.time_ns, total) for part in parts]),
    ]
    if has_recorded:
        columns += [
            figures("Recorded", [_figure(part.recorded_ns) for part in parts], "ns"),
            numbers("Ratio", list(map(_ratio, parts))),
        ]
    shown = tuple(range(MOST_ROWS)) if len(parts) > MOST_ROWS else None
    more = f"and {pluralize(len(parts) - MOST_ROWS, 'more operator')}" if shown else ""
    yield Section(
        f"Operators of {record.case.label}, in an iteration",
        table=Table(tuple(columns), shown, more),
        below=list(_explanations(parts, has_recorded)),
    )
    omitted = [part for part in parts if part.made < part.calls]
    if omitted:
        yield Section(
            "Not replayed",
            table=Table(
                (
                    names("Operator", [part.name for part in omitted]),
                    numbers("Calls", [f"{part.calls - part.made:,}" for part in omitted]),
                    texts("Reason", [part.reason for part in omitted]),
                )
            ),
        )


def _explanations(parts: Sequence[Part], has_recorded: bool) -> Iterator[str]:
    yield "Each call was timed by itself, which takes longer than an iteration."
    if has_recorded:
        made = sum(part.made_recorded_ns or 0.0 for part in parts)
        whole = sum(part.recorded_ns or 0.0 for part in parts)
        yield (
            "Ratio: the time of the replayed calls to what the same calls took in the trace. They "
            f"have {made / whole if whole else 0.0:.1%} of the time of all its calls."
        )
    lacking = sum(part.calls - part.made for part in parts)
    if lacking:
        yield f"{pluralize(lacking, 'call')} omitted: the reasons are below."


def _figure(time_ns: float | None) -> Figure | None:
    return None if time_ns is None else Figure(time_ns)


def _share(time_ns: float | None, total: float) -> str:
    return f"{time_ns / total:.1%}" if time_ns and total else ""


def _ratio(part: Part) -> str:
    if not part.time_ns or not part.made_recorded_ns:
        return ""
    return f"{part.time_ns / part.made_recorded_ns:.2f}"
