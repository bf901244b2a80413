"""The wall-clock time of a call and its synchronisation, which a user waits for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from time import perf_counter_ns
from typing import NamedTuple

from opperf.frameworks import Framework
from opperf.frameworks.timing import MOST_CALLS, PhaseTimes
from opperf.machine.kernel import READINGS, resolution_ns
from opperf.model import MetricKind

NO_WAIT: Callable[[], object] = bool
"""The synchronisation where a call returns when its work is done. A function in C: one in Python
takes about a microsecond, instead of 40 ns, after a call that switches threads."""


@functools.cache
def overhead_ns(waits: bool) -> float:
    """Returns the median time of an empty phase: a reading of the clock, and the calls of the phase
    and of the synchronisation, which is in Python if it waits for something."""

    def nothing() -> None:
        """An empty phase."""

    (timed,) = _trace([nothing], READINGS, 1, nothing if waits else NO_WAIT, 0.0)
    return float(median(timed.times))


IDLE_WAITS = 200
"""Synchronisations of an idle device whose median is the cost of one: a few milliseconds."""


class IdleWait(NamedTuple):
    """The cost of synchronising an idle device, in nanoseconds."""

    overhead_ns: float
    """Median time of an empty phase and its synchronisation."""
    scatter_ns: float
    """Median absolute deviation of these times: the uncertainty of the cost."""


_IDLE_WAITS: dict[tuple[str, str], IdleWait] = {}
"""By the framework's name and the device."""


def idle_wait(framework: Framework, device: str) -> IdleWait:
    """Returns the cost of synchronising the idle device, measured once in a process."""
    key = framework.name, device
    if key not in _IDLE_WAITS:
        _IDLE_WAITS[key] = _measure_idle_wait(partial(framework.synchronize, device))
    return _IDLE_WAITS[key]


def _measure_idle_wait(synchronize: Callable[[], None]) -> IdleWait:
    def nothing() -> None:
        """An empty phase."""

    # Work that is still queued would add to the cost.
    synchronize()
    (timed,) = _trace([nothing], IDLE_WAITS, 1, synchronize, 0.0)
    cost = float(median(timed.times))
    return IdleWait(cost, float(median(abs(time - cost) for time in timed.times)))


class PythonTimer:
    """Times phases with `time.perf_counter_ns`, and subtracts the overhead of timing."""

    kind = MetricKind.WALL

    def __init__(self, synchronize: Callable[[], object] = NO_WAIT) -> None:
        self._synchronize = synchronize
        self.resolution_ns = resolution_ns()
        self.overhead_ns = overhead_ns(waits=synchronize is not NO_WAIT)

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        """Runs the phases `count` times `loops` times; samples are the means of `loops` calls."""
        return _trace(phases, count, loops, self._synchronize, self.overhead_ns)


class QueueTimer(PythonTimer):
    """Times phases on an asynchronous device. The cost of synchronising an idle one is subtracted.
    The calls of a sample are queued and synchronised once; with several phases, each call is. The
    resolution is the deviation of that cost, so that samples are long against it."""

    def __init__(self, synchronize: Callable[[], None], idle: IdleWait) -> None:
        super().__init__(synchronize)
        self.overhead_ns = idle.overhead_ns
        self.resolution_ns = max(self.resolution_ns, idle.scatter_ns)

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        if loops == 1 or len(phases) > 1:
            return super().trace(phases, count, loops)
        (phase,) = phases
        samples: list[float] = []
        result: object = None
        for _ in range(count):
            # Freed before the next sample.
            result = None
            time, result = self._batch(phase, loops)
            samples.append(time)
        timed = PhaseTimes(samples, samples, samples[:MOST_CALLS], batch=loops, last=(result,))
        return [timed]

    def _batch(self, phase: Callable[[], object], loops: int) -> tuple[float, object]:
        result: object = None
        begin = perf_counter_ns()
        for _ in range(loops):
            # The previous output is freed meanwhile, like in a user's loop.
            result = phase()
        self._synchronize()
        elapsed = perf_counter_ns() - begin
        return max(0.0, (elapsed - self.overhead_ns) / loops), result


def _trace(
    phases: Sequence[Callable[[], object]],
    count: int,
    loops: int,
    synchronize: Callable[[], object],
    overhead_ns: float,
) -> list[PhaseTimes]:
    # For each phase: times not yet split into samples, samples, calls.
    taken: list[tuple[list[int], list[float], list[float]]] = []
    kept = []
    for phase in phases:
        times: list[int] = []
        taken.append((times, [], []))
        kept.append((phase, times.append))
    # The loop does as little as possible: between calls that switch threads, each step of the
    # interpreter takes several times as long as beside an empty phase, which gauges the overhead.
    clock = perf_counter_ns
    # Split into samples after many calls, and not between two of them.
    together = max(1, MOST_CALLS // loops)
    result: object = None
    for done in range(0, count, together):
        for _ in range(min(together, count - done) * loops):
            for phase, keep in kept:
                # Freed while the clock is not read, and before the next phase allocates.
                result = None
                begin = clock()
                result = phase()
                synchronize()
                keep(clock() - begin)
        for times, samples, calls in taken:
            for first in range(0, len(times), loops):
                # An empty phase may take less than the median overhead.
                mean = sum(times[first : first + loops]) / loops
                samples.append(max(0.0, mean - overhead_ns))
            calls.extend(time - overhead_ns for time in times[: MOST_CALLS - len(calls)])
            times.clear()
    timed = [PhaseTimes(samples, samples, calls) for _, samples, calls in taken]
    timed[-1] = timed[-1]._replace(last=(result,))
    return timed
