"""Times of calls that a ranking is by: as measured, else as recorded; else their number alone; and
which may be stalls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from opperf.instruments.times import RECORDED
from opperf.model import PASSES, Case, ChainTarget, NoteCode, Record, Run, Status
from opperf.results.figures import CaseFigures
from opperf.results.possible import STALLED, plausible_ns
from opperf.results.units import WIDE, Figure

Key = TypeVar("Key")


class Basis(NamedTuple):
    """Figures of calls that shares are of."""

    name: str
    unit: str
    """`ns`; empty of numbers."""
    metrics: tuple[str, ...]
    """Metrics that it has figures of."""
    figure: Callable[[Record, Sequence[str]], Figure | None]
    """Returns that of one call by some of the metrics; None if the record has none."""
    needs_record: bool
    """Whether a planned case that was not measured has none."""

    def records(self, run: Run) -> Iterator[Record]:
        """Yields the records of a run, and of its other cases what stands for theirs."""
        yield from run.records
        if not self.needs_record:
            known = {record.id for record in run.records}
            for case in run.cases:
                if case.id not in known:
                    yield Record(case=case, id=case.id, status=Status.OK)


def without_chains(run: Run) -> Run:
    """Returns a run without the cases of its program's chains, whose calls are others' too."""

    def is_other(record: Record) -> bool:
        return not isinstance(record.case.target, ChainTarget)

    return msgspec.structs.replace(
        run,
        records=tuple(filter(is_other, run.records)),
        cases=tuple(case for case in run.cases if not isinstance(case.target, ChainTarget)),
    )


def time_of(record: Record, metrics: Sequence[str] = PASSES) -> Figure | None:
    """Returns the time of one call in nanoseconds, the sum of its passes; None if the record has no
    finite one."""
    found = CaseFigures(record).compared
    figures = [found[name].shown for name in metrics if name in found and found[name].is_finite]
    return add_figures((1, figure) for figure in figures) if figures else None


def recorded_time(case: Case) -> float | None:
    """Returns the mean time in nanoseconds of the case's calls in the recorded program; None if
    they were not timed."""
    # The times of places remain where a setting has made other calls of these.
    if not case.recorded:
        return None
    times = [site.time_ns for site in case.sites if site.time_ns is not None]
    calls = sum(site.count for site in case.sites)
    # The sums at places have all calls, where `recorded` may be a sample. Calls of a place without
    # a time, as those of a compiled program, take none of their own.
    if times and calls >= case.count:
        return math.fsum(times) / calls
    return math.fsum(case.recorded) / len(case.recorded)


def _recorded(record: Record, metrics: Sequence[str]) -> Figure | None:
    time = recorded_time(record.case)
    return None if time is None else Figure(time)


MEASURED = Basis("measured", "ns", PASSES, time_of, needs_record=True)
RECORDED_TIMES = Basis("recorded", "ns", (RECORDED.name,), _recorded, needs_record=False)
CALLS = Basis("calls", "", ("calls",), lambda record, metrics: Figure(1.0), needs_record=False)

BASES = (MEASURED, RECORDED_TIMES, CALLS)
"""In the order of preference."""


def basis_of(runs: Iterable[Run]) -> Basis | None:
    """Returns the first basis of which some case has a figure; of the number of calls only those of
    a recorded program. None if there is none."""
    listed = list(runs)
    for basis in BASES[:-1]:
        for run in listed:
            if any(basis.figure(record, basis.metrics) for record in basis.records(run)):
                return basis
    is_recording = any(run.header.program is not None and run.cases for run in listed)
    return CALLS if is_recording else None


def totals(pairs: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """Returns the sum of the values of each key, in the order of the keys."""
    found: dict[Key, float] = {}
    for key, value in pairs:
        found[key] = found.get(key, 0.0) + value
    return found


def add_figures(counted: Iterable[tuple[int, Figure]]) -> Figure:
    """Returns the sum of figures, each so many times. Their errors are independent; the sum is
    unreliable if the unreliable ones are more than a small part of it."""
    pairs = list(counted)
    value = math.fsum(count * entry.value for count, entry in pairs)
    doubtful = math.fsum(count * entry.value for count, entry in pairs if entry.unreliable)
    widths = [count * entry.half_width for count, entry in pairs if entry.half_width is not None]
    half_width = math.hypot(*widths) if len(widths) == len(pairs) else None
    return Figure(value, half_width, doubtful > WIDE * value)


APART = 10.0
"""Ratio of the median to the shortest sample from which samples are of different things: a clock's
speed or a cold cache makes a call a few times as long."""


def may_be_stall(record: Record) -> bool:
    """Whether a pass of a record has waits in its samples, and takes much longer than its shortest
    sample, than the call in the recorded program, or than its bytes and their number explain."""
    usual = recorded_time(record.case)
    longest = plausible_ns(record) if usual is None else STALLED * usual
    for metric in PASSES:
        found = CaseFigures(record).of(metric)
        if found is None:
            continue
        if found.median >= APART * found.summary.min:
            return True
        if found.note(NoteCode.BUSY) and found.median >= min(longest, STALLED * found.summary.min):
            return True
    return False
