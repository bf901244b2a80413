"""Plausible times of calls: a longer one may be a stall."""

from __future__ import annotations

from opperf.model import Record

STALLED = 3.0
"""Ratio of the first time to the second from which the first is a stall: another process on the
same core makes a case take twice as long, and a clock's speed changes by less."""

CALL_NS = 100e3
BYTE_NS = 10.0
"""Expected time of a call and of a byte that it moves, for a case with nothing to compare it with:
ten times as long as a slow call takes, and a hundredth of a memory's speed. Ten times that is
more than most operators need that compute much with few bytes."""


def plausible_ns(record: Record) -> float:
    """Returns the longest plausible time of a call by the bytes that it moves, in nanoseconds."""
    return CALL_NS + BYTE_NS * record.moved_bytes
