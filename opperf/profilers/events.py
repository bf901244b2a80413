"""Time on the device, between two events in its queue of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns

from opperf.frameworks import Framework
from opperf.frameworks.timing import Timed
from opperf.model import MetricKind

QUEUED = 100
"""Calls between two waits for the device. A device that has work left need not wait for the host,
whose dispatch would be in the times; CUDA stops the host when some thousand launches are queued."""


class EventProfiler:
    """Times phases by an event before each of them and one after it."""

    kind = MetricKind.KERNEL

    def __init__(self, framework: Framework, device: str) -> None:
        self._event = partial(framework.event, device)
        self._synchronize = partial(framework.synchronize, device)
        self.resolution_ns = self._event().resolution_ns

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[Timed]:
        """Run the phases in order, `count` times `loops` times over, and wait for the device every
        `QUEUED` times; each phase's samples, the mean of `loops` calls each."""
        times: list[list[float]] = [[] for _ in phases]
        walls: list[list[float]] = [[] for _ in phases]
        for done in range(0, count * loops, QUEUED):
            queued = self._queued(phases, min(QUEUED, count * loops - done))
            for place, (elapsed, wall) in enumerate(queued):
                times[place] += elapsed
                walls[place] += [wall] * len(elapsed)
        return [Timed.of(*both, loops) for both in zip(times, walls, strict=True)]

    def _queued(
        self, phases: Sequence[Callable[[], object]], calls: int
    ) -> list[tuple[list[float], float]]:
        """Of each phase the time of each call on the device, and the mean wall clock of one."""
        # Made beforehand: the host is to be as quick as it can be in the loop.
        pairs = [[(self._event(), self._event()) for _ in range(calls)] for _ in phases]
        on_host = [0] * len(phases)
        clock = perf_counter_ns
        for call in range(calls):
            for place, phase in enumerate(phases):
                before, after = pairs[place][call]
                begin = clock()
                before.record()
                result = phase()
                after.record()
                on_host[place] += clock() - begin
                # Freed before the next phase allocates.
                del result
        begin = clock()
        self._synchronize()
        # Every call has its part in the queue that is waited for.
        waited = (clock() - begin) / len(phases)
        return [
            ([after.elapsed_ns(before) for before, after in own], (host + waited) / calls)
            for own, host in zip(pairs, on_host, strict=True)
        ]
