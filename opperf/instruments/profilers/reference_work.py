"""Reference work: a fixed computation that is timed between an operator's calls and gauges the
core's speed.

On a shared machine a core's speed changes by a third within a tenth of a second with the load of
its neighbours, and with it the time of everything that runs on the core.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from statistics import fmean
from time import perf_counter_ns

BLOCK = bytes(8192)
"""Data to hash, small enough for the first-level cache together with the interpreter's."""

WORKS: dict[str, Callable[[], object]] = {
    "interpreter": lambda: sum(range(500)),
    "hashing": lambda: hashlib.sha256(BLOCK).digest(),
}
"""Two kinds of work, of five to twenty microseconds each: a load that slows many small instructions
by a half slows arithmetic in registers by a tenth, and operators are between the two."""


class ReferenceWork:
    """Times the reference work; a phase that runs before each call of an operator."""

    def __init__(self) -> None:
        self._times: dict[str, list[int]] = {name: [] for name in WORKS}

    def __call__(self) -> None:
        """Times each piece of work once, after an untimed run that restores the caches."""
        for name, work in WORKS.items():
            work()
            begin = perf_counter_ns()
            work()
            self._times[name].append(perf_counter_ns() - begin)

    def forget(self) -> None:
        for times in self._times.values():
            times.clear()

    def means(self) -> dict[str, float]:
        """The trimmed mean of each piece of work in ns. Raises `ValueError` if none was timed."""
        if not all(self._times.values()):
            raise ValueError("no work was timed")
        return {name: middle_mean(times) for name, times in self._times.items()}


CUT = 0.1
"""Share of the times that is trimmed at each end: more than interruptions affect."""


def middle_mean(times: Sequence[float]) -> float:
    """The mean without the longest and shortest times. Where a core was slow for a third of the
    time, it contains a third of the difference, for work and operator alike; a median all or
    nothing."""
    ordered = sorted(times)
    cut = int(CUT * len(ordered))
    return fmean(ordered[cut : len(ordered) - cut])
