"""How fast a core is just now: fixed work, timed between an operator's calls.

On a machine that is shared, a core's speed changes by a third within a tenth of a second, as others
come and go beside it, and the time of everything that runs on it changes with it. Work that is
always the same tells how fast it was while the samples were taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from statistics import fmean
from time import perf_counter_ns

BLOCK = bytes(8192)
"""What is hashed: in the first-level cache together with what the interpreter needs."""

WORKS: dict[str, Callable[[], object]] = {
    "interpreter": lambda: sum(range(500)),
    "hashing": lambda: hashlib.sha256(BLOCK).digest(),
}
"""Work of two kinds, some five to twenty microseconds each: what slows many small instructions and
loads by a half slows arithmetic in registers by a tenth, and operators are anywhere between."""


class Pace:
    """Fixed work as a phase, to be run before each call of an operator."""

    def __init__(self) -> None:
        self._times: dict[str, list[int]] = {name: [] for name in WORKS}

    def __call__(self) -> None:
        """Time each piece of work once, the second time it is done: the first brings back what the
        operator drove out of the caches, which is not the core's speed."""
        for name, work in WORKS.items():
            work()
            begin = perf_counter_ns()
            work()
            self._times[name].append(perf_counter_ns() - begin)

    def forget(self) -> None:
        """Leave out what was timed so far, as while warming up."""
        for times in self._times.values():
            times.clear()

    def means(self) -> dict[str, float]:
        """By piece of work, the middle mean of its times in nanoseconds. Raises `ValueError` where
        none was timed."""
        if not all(self._times.values()):
            raise ValueError("no work was timed")
        return {name: middle_mean(times) for name, times in self._times.items()}


CUT = 0.1
"""Share of the times that is left out at each end: more than a core is interrupted in."""


def middle_mean(times: Sequence[float]) -> float:
    """The mean of all but the longest and shortest times. Where a core was slow for a third of the
    time, a third of its difference is in it, of work and operator alike; a median has all of it or
    nothing."""
    ordered = sorted(times)
    cut = int(CUT * len(ordered))
    return fmean(ordered[cut : len(ordered) - cut])
