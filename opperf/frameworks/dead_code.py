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
    shares: Sequence[float] = ()
    """Share of each value that it reads; empty for the whole of each."""
    is_elementwise: bool = False
    """Whether a compiler may compute those of its elements alone that are read."""
    repeats: Sequence[Hashable] = ()
    """The values of the earlier step of the same operation, which a compiler merges it with."""


def work_of(moved_bytes: float, operations: float = 0.0) -> float:
    """Returns the work of an operation, in bytes that could be moved in its time."""
    return max(moved_bytes, operations / OPERATIONS_PER_BYTE)


class Removed(NamedTuple):
    """Shares of the work of steps."""

    dead: float
    """That of what reaches no result."""
    all: float
    """With that of elements that nothing reads, and what repeats an earlier step."""


def removed(steps: Sequence[Step], results: Set[Hashable]) -> Removed:
    """Returns the shares of the work of steps, in their order, that a compiler removes."""
    whole = [Step(step.work, step.reads, step.writes, step.is_kept) for step in steps]
    return Removed(_share(whole, results), _share(steps, results))


def _share(steps: Sequence[Step], results: Set[Hashable]) -> float:
    needed: dict[Hashable, float] = dict.fromkeys(results, 1.0)
    gone = total = 0.0
    for step in reversed(steps):
        total += step.work
        wanted = max((needed.get(value, 0.0) for value in step.writes), default=0.0)
        share = 1.0 if step.is_kept else wanted
        if share and not step.is_elementwise:
            share = 1.0
        reads = step.repeats or step.reads
        gone += step.work * (1.0 if step.repeats else 1.0 - share)
        parts = [1.0] * len(reads) if step.repeats or not step.shares else step.shares
        for value, part in zip(reads, parts, strict=True):
            needed[value] = min(1.0, needed.get(value, 0.0) + share * part)
    return gone / total if total else 0.0


def notes(metrics: Sequence[str], share: Removed) -> list[Note]:
    """Returns the notes on a pass of which this share of the work is removed, if that is most."""
    found = _notes(metrics, share.dead, DEAD.format(share.dead))
    return found or notes_of_left(metrics, 1 - share.all)


def notes_of_left(metrics: Iterable[str], left: float) -> list[Note]:
    """Returns the notes on a pass of which a compiled program does this share of the work, if that
    is not most."""
    return _notes(metrics, 1 - left, LEFT.format(left))


def _notes(metrics: Iterable[str], removed: float, message: str) -> list[Note]:
    is_most = removed > MOST
    return [Note(metric, NoteCode.DEAD_CODE, message) for metric in metrics] if is_most else []
