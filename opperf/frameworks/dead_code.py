"""Work of a call that reaches none of its results: eager mode does it, and a compiler drops it. Its
share is that of the time that moving its bytes and its arithmetic would take."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from typing import NamedTuple

from opperf.model import Note, NoteCode

FORWARD, BACKWARD, TOTAL = "forward", "backward", "total"
"""Metrics of the passes."""

MOST = 0.5
"""Share of a call's work from which a note says that it is gone: the figure is then of less than
half of what was written."""

OPERATIONS_PER_BYTE = 10
"""Floating-point operations that take as long as moving a byte, on CPUs and on GPUs alike: tens to
hundreds of billions beside tens of GB/s, or ten times as many of both."""

DEAD = (
    "{:.0%} of the function's work reaches none of its results, and the compiler drops it: the "
    "time is that of the rest; return what is to be measured"
)

LEFT = (
    "the compiled program does {:.2%} of the function's work: the compiler dropped, merged or "
    "computed the rest, and the time is that of what is left"
)

CONSTANT = (
    "the compiler computed the results, which depend on no input, and a call only returns them; "
    "pass as an argument what they are computed from"
)


class Step(NamedTuple):
    """An operation of a call; values are known by anything that can be a key."""

    work: float
    """As `work_of`."""
    reads: Sequence[Hashable]
    writes: Sequence[Hashable]
    is_kept: bool = False
    """Whether it does more than write these values."""


def work_of(moved_bytes: float, operations: float = 0.0) -> float:
    """Returns the work of an operation, in bytes that could be moved in its time."""
    return max(moved_bytes, operations / OPERATIONS_PER_BYTE)


def dead_share(steps: Sequence[Step], results: Set[Hashable]) -> float:
    """Returns the share of the work of steps, in their order, that reaches no result."""
    live, dead, total = set(results), 0.0, 0.0
    for step in reversed(steps):
        total += step.work
        if step.is_kept or not live.isdisjoint(step.writes):
            live.update(step.reads)
        else:
            dead += step.work
    return dead / total if total else 0.0


def notes(metrics: Iterable[str], share: float) -> list[Note]:
    """Returns the notes on a pass of which this share of the work is dead, if that is most."""
    return _notes(metrics, share, DEAD.format(share))


def notes_of_left(metrics: Iterable[str], left: float) -> list[Note]:
    """Returns the notes on a pass of which a compiled program does this share of the work, if that
    is not most."""
    return _notes(metrics, 1 - left, LEFT.format(left))


def _notes(metrics: Iterable[str], removed: float, message: str) -> list[Note]:
    is_most = removed > MOST
    return [Note(metric, NoteCode.DEAD_CODE, message) for metric in metrics] if is_most else []
