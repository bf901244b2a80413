"""Time on the device, between two events in its queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns

from opperf.frameworks import Framework
from opperf.frameworks.timing import PhaseTimes
from opperf.model import MetricKind

QUEUED = 100
"""Calls between two synchronisations. While the queue is not empty, the times contain no wait for
the host's dispatch; CUDA blocks the host when about a thousand launches are queued."""


class EventProfiler:
    """Times phases by an event before and after each."""

    kind = MetricKind.KERNEL

    def __init__(self, framework: Framework, device: str) -> None:
        self._event = partial(framework.event, device)
        self._synchronize = partial(framework.synchronize, device)
        self.resolution_ns = self._event().resolution_ns

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        times: list[list[float]] = [[] for _ in phases]
        walls: list[list[float]] = [[] for _ in phases]
        result: object = None
        for done in range(0, count * loops, QUEUED):
            # Freed before the next phase allocates.
            result = None
            queued, result = self._queued(phases, min(QUEUED, count * loops - done))
            for index, (elapsed, wall) in enumerate(queued):
                times[index] += elapsed
                walls[index] += [wall] * len(elapsed)
        timed = [PhaseTimes.of(*both, loops) for both in zip(times, walls, strict=True)]
        timed[-1] = timed[-1]._replace(last=(result,))
        return timed

    def _queued(
        self, phases: Sequence[Callable[[], object]], calls: int
    ) -> tuple[list[tuple[list[float], float]], object]:
        """Returns for each phase the calls' times on the device and their mean wall-clock time; and
        what the very last call returned."""
        # Made in advance, so that the loop is as fast as possible on the host.
        pairs = [[(self._event(), self._event()) for _ in range(calls)] for _ in phases]
        on_host = [0] * len(phases)
        clock = perf_counter_ns
        result: object = None
        for call in range(calls):
            for index, phase in enumerate(phases):
                before, after = pairs[index][call]
                # Freed before the next phase allocates.
                result = None
                begin = clock()
                before.record()
                result = phase()
                after.record()
                on_host[index] += clock() - begin
        begin = clock()
        self._synchronize()
        # The wait for the queue is shared equally by all calls.
        waited = (clock() - begin) / len(phases)
        times = [
            ([after.elapsed_ns(before) for before, after in own], (host + waited) / calls)
            for own, host in zip(pairs, on_host, strict=True)
        ]
        return times, result
