"""What a user waits for: the wall clock around a call and the wait for the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns


class PythonTimer:
    """Times phases with `time.perf_counter_ns`.

    What it adds to each sample is one reading of the clock, some 50 ns, and one iteration
    of a Python loop.
    """

    def __init__(self, synchronize: Callable[[], None]) -> None:
        self._synchronize = synchronize

    def trace(self, phases: Sequence[Callable[[], object]], count: int) -> list[list[float]]:
        """Run the phases in order, `count` times over; each phase's times in nanoseconds."""
        synchronize = self._synchronize
        samples: list[list[float]] = [[] for _ in phases]
        timed = list(zip(phases, samples, strict=True))
        for _ in range(count):
            for phase, times in timed:
                begin = perf_counter_ns()
                result = phase()
                synchronize()
                times.append(float(perf_counter_ns() - begin))
                # Freed after the clock was read, and before the next phase allocates.
                del result
        return samples
