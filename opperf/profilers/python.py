"""What a user waits for: the wall clock around a call and the wait for the device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter_ns
from typing import NamedTuple

from opperf.frameworks import Framework
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


IDLE_WAITS = 200
"""Waits for an idle device whose median is one's cost: a few milliseconds, once in a process."""


class IdleWait(NamedTuple):
    """A wait for a device that has nothing to do, in nanoseconds."""

    overhead_ns: float
    """Time of an empty phase and the wait."""
    scatter_ns: float
    """Median absolute deviation of these times: how well the cost of one is known."""


_IDLE_WAITS: dict[tuple[str, str], IdleWait] = {}
"""By the framework's name and the device."""


def idle_wait(framework: Framework, device: str) -> IdleWait:
    """The cost of a wait for the idle device, measured once in a process."""
    key = framework.name, device
    if key not in _IDLE_WAITS:
        _IDLE_WAITS[key] = _measure_idle_wait(partial(framework.synchronize, device))
    return _IDLE_WAITS[key]


def _measure_idle_wait(synchronize: Callable[[], None]) -> IdleWait:
    def nothing() -> None:
        """Stands for an operator that is done at once."""

    # What is still queued is not the cost of a wait.
    synchronize()
    (timed,) = _traced([nothing], IDLE_WAITS, 1, synchronize, 0.0)
    cost = float(median(timed.times))
    return IdleWait(cost, float(median(abs(time - cost) for time in timed.times)))


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


class QueueTimer(PythonTimer):
    """Times phases on a device that calls are queued for.

    The cost of a wait for the idle device is taken off each wait. The calls of a sample are queued
    one after another, with one wait at their end, unless other phases come between them: those are
    waited for one by one. A sample is long against the clock's resolution, which is here what the
    cost of a wait scatters by, so that little of a short kernel's time is the wait's.
    """

    def __init__(self, synchronize: Callable[[], None], idle: IdleWait) -> None:
        super().__init__(synchronize)
        self.overhead_ns = idle.overhead_ns
        self.resolution_ns = max(self.resolution_ns, idle.scatter_ns)

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[Timed]:
        """Run the phases in order, `count` times `loops` times over; each phase's samples, the
        mean of `loops` calls each."""
        if loops == 1 or len(phases) > 1:
            return super().trace(phases, count, loops)
        (phase,) = phases
        samples = [self._batch(phase, loops) for _ in range(count)]
        return [Timed(samples, samples, samples[:MOST_CALLS], batch=loops)]

    def _batch(self, phase: Callable[[], object], loops: int) -> float:
        """The mean time of calls that are queued and waited for together."""
        begin = perf_counter_ns()
        for _ in range(loops):
            # The output before it is freed meanwhile, as in a user's loop.
            result = phase()
        self._synchronize()
        elapsed = perf_counter_ns() - begin
        del result
        return max(0.0, (elapsed - self.overhead_ns) / loops)


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
