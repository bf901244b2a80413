"""What a user waits for: the wall clock around a call and the wait for the device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from time import perf_counter_ns

from opperf.frameworks.timing import MOST_CALLS, Timed
from opperf.model import MetricKind

READINGS = 1000
"""Readings of the clock, or empty calls, whose median is one's cost: enough to outvote what
interrupts a few of them, in a fraction of a millisecond."""


@functools.cache
def resolution_ns() -> float:
    """The clock's step: the least time that two readings are apart when they are apart at all,
    which on most machines is what a reading takes."""
    readings = [perf_counter_ns() for _ in range(READINGS)]
    steps = [after - before for before, after in pairwise(readings)]
    return float(median(step for step in steps if step > 0))


@functools.cache
def overhead_ns() -> float:
    """What a sample of an empty phase has in it: two readings of the clock, less one's own
    time, and the calls of the phase and of the wait."""

    def nothing() -> None:
        """Stands for an operator that is done at once."""

    (timed,) = _traced([nothing], READINGS, 1, nothing, 0.0)
    return float(median(timed.times))


class PythonTimer:
    """Times phases with `time.perf_counter_ns`.

    What the timing itself takes is measured with an empty phase, once in a process, and taken off
    each call.
    """

    kind = MetricKind.WALL

    def __init__(self, synchronize: Callable[[], None]) -> None:
        self._synchronize = synchronize
        self.resolution_ns = resolution_ns()
        self.overhead_ns = overhead_ns()

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[Timed]:
        """Run the phases in order, `count` times `loops` times over; each phase's samples, the
        mean of `loops` calls each."""
        return _traced(phases, count, loops, self._synchronize, self.overhead_ns)


def _traced(
    phases: Sequence[Callable[[], object]],
    count: int,
    loops: int,
    synchronize: Callable[[], None],
    overhead_ns: float,
) -> list[Timed]:
    # Of each phase: times not yet split into samples, samples, calls.
    taken: list[tuple[list[int], list[float], list[float]]] = []
    kept = []
    for phase in phases:
        times: list[int] = []
        taken.append((times, [], []))
        kept.append((phase, times.append))
    # As little as can be is looked up and done in the loop: between calls that switch threads, each
    # step of the interpreter takes several times what it takes beside an empty phase.
    clock = perf_counter_ns
    # Told apart into samples when many are there, and not between two of them.
    together = max(1, MOST_CALLS // loops)
    for done in range(0, count, together):
        for _ in range(min(together, count - done) * loops):
            for phase, keep in kept:
                begin = clock()
                result = phase()
                synchronize()
                keep(clock() - begin)
                # Freed after the clock was read, and before the next phase allocates.
                del result
        for times, samples, calls in taken:
            for first in range(0, len(times), loops):
                # An empty phase may take less than the median one did.
                mean = sum(times[first : first + loops]) / loops
                samples.append(max(0.0, mean - overhead_ns))
            calls.extend(time - overhead_ns for time in times[: MOST_CALLS - len(calls)])
            times.clear()
    return [Timed(samples, samples, calls) for _, samples, calls in taken]
