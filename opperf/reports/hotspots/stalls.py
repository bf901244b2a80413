"""Measured times that may be stalls: of calls that waited for a core that another process had."""

from __future__ import annotations

from opperf.model import PASSES, NoteCode, Record
from opperf.reports.hotspots.times import recorded_time
from opperf.results.possible import STALLED, plausible_ns

APART = 10.0
"""Ratio of the median to the shortest sample from which samples are of different things: a clock's
speed or a cold cache makes a call a few times as long."""


def may_be_stall(record: Record) -> bool:
    """Whether a pass of a record has waits in its samples, and takes much longer than its shortest
    sample, than the call in the recorded program, or than its bytes and their number explain."""
    usual = recorded_time(record.case)
    longest = plausible_ns(record) if usual is None else STALLED * usual
    for metric in PASSES:
        summary = record.summaries.get(metric)
        if summary is None:
            continue
        if summary.median >= APART * summary.min:
            return True
        is_busy = record.note(metric, NoteCode.BUSY) is not None
        if is_busy and summary.median >= min(longest, STALLED * summary.min):
            return True
    return False
