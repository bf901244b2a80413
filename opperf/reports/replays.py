"""Replays of traces: the times of their operators beside the recorded ones, and what was left
out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from opperf.model import Part, Record
from opperf.plurals import pluralize
from opperf.reports.fields import (
    COUNT,
    NAME,
    PERCENT,
    TEXT,
    TIME,
    WORD,
    Field,
    number,
    rows_of,
    table_of,
)
from opperf.reports.model import Report, Section

MOST_ROWS = 25
"""Most operators that a table on a terminal has; a step of a large model calls a hundred."""


def replayed(records: Iterable[Record]) -> list[Record]:
    """Returns the records of replays."""
    return [record for record in records if record.parts]


class _Replayed(NamedTuple):
    record: Record
    part: Part
    total: float
    """Time of all operators of the replay in nanoseconds."""


def _replayed(record: Record) -> list[_Replayed]:
    total = sum(part.time_ns or 0.0 for part in record.parts)
    return [_Replayed(record, part, total) for part in record.parts]


def _share(row: _Replayed) -> float | None:
    return row.part.time_ns / row.total if row.part.time_ns and row.total else None


def _ratio(row: _Replayed) -> float | None:
    part = row.part
    return part.time_ns / part.made_recorded_ns if part.time_ns and part.made_recorded_ns else None


NAME_FIELD: Field[_Replayed] = Field("name", "Operator", NAME, lambda row: row.part.name)

REASON_FIELD: Field[_Replayed] = Field("reason", "Reason", TEXT, lambda row: row.part.reason)

RECORDED: tuple[Field[_Replayed], ...] = (
    Field("recorded_ns", "Recorded", TIME, lambda row: row.part.recorded_ns),
    Field("ratio", "Ratio", number("{:.2f}".format), _ratio),
)

FIELDS: tuple[Field[_Replayed], ...] = (
    NAME_FIELD,
    Field("calls", "Calls", COUNT, lambda row: row.part.calls),
    Field("made", "Replayed", COUNT, lambda row: row.part.made),
    Field("time_ns", "Time", TIME, lambda row: row.part.time_ns),
    Field("share", "Share", PERCENT, _share),
    *RECORDED,
)

OMITTED: tuple[Field[_Replayed], ...] = (
    NAME_FIELD,
    Field("", "Calls", COUNT, lambda row: row.part.calls - row.part.made),
    REASON_FIELD,
)

IN_FILES: tuple[Field[_Replayed], ...] = (
    Field("id", None, WORD, lambda row: row.record.id),
    Field("replay", None, WORD, lambda row: row.record.case.label),
    *FIELDS,
    Field("made_recorded_ns", None, TIME, lambda row: row.part.made_recorded_ns),
    REASON_FIELD,
)


def report_of(records: Iterable[Record]) -> Report:
    """Returns the operators of replays, those that took longest first."""
    found = replayed(records)
    return Report(
        "run",
        "Replays",
        tuple(section for record in found for section in sections_of(record)),
        {"replays": [_values(record) for record in found]},
        *rows_of(IN_FILES, (row for record in found for row in _replayed(record))),
    )


def _values(record: Record) -> dict[str, Any]:
    return {"id": record.id, "replay": record.case.label, "operators": record.parts}


def sections_of(record: Record) -> Iterator[Section]:
    """Yields the table of a replay's operators, and that of the calls that it omits; nothing of any
    other record."""
    parts = record.parts
    if not parts:
        return
    has_recorded = any(part.recorded_ns is not None for part in parts)
    rows = _replayed(record)
    fields = [field for field in FIELDS if has_recorded or field not in RECORDED]
    yield Section(
        f"Operators of {record.case.label}, in an iteration",
        table=table_of(fields, rows, MOST_ROWS),
        below=list(_explanations(parts, has_recorded)),
    )
    omitted = [row for row in rows if row.part.made < row.part.calls]
    if omitted:
        yield Section("Not replayed", table=table_of(OMITTED, omitted))


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
