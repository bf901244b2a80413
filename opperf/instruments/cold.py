"""Calls with cold caches: on a CPU, more bytes than the last-level cache holds are written between
calls, by as many threads as there are cores. On other devices the framework flushes the caches, if
it can; else the calls take turns with copies of their inputs, more than the cache holds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from opperf.frameworks.base import Gradient
from opperf.instruments.peaks import tensor_bytes
from opperf.instruments.prepared import PreparedCase
from opperf.machine.kernel import usable_cpus
from opperf.machine.topology import last_level_bytes
from opperf.model import Case

TIMES = 3
"""Bytes that are written, or of copies, as a multiple of the cache's size: a cache replaces
its lines by age only approximately (LRU), so that once the size leaves some of them."""

FALLBACK_BYTES = 64 * 2**20
"""Size of the last-level cache if the system does not report it: that of large servers."""

DEVICE_BYTES = 128 * 2**20
"""Size of a GPU's level-2 cache, which no framework reports: that of the largest (126 MiB)."""

COPIES = 256
"""Maximum number of copies of inputs: tiny ones would need millions."""


class Flush:
    """Evicts everything from the CPU's caches, each time it is called."""

    def __init__(self) -> None:
        cores = len(usable_cpus())
        size = TIMES * (last_level_bytes() or FALLBACK_BYTES) // cores
        self._parts = [np.zeros(size, dtype=np.uint8) for _ in range(cores)]
        self._threads = ThreadPoolExecutor(cores)

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def __call__(self) -> None:
        # NumPy releases the interpreter's lock while it computes, so that the threads run at once.
        list(self._threads.map(lambda part: np.add(part, 1, out=part), self._parts))


def count_copies(case: Case) -> int:
    """Returns the number of copies of the inputs that exceed a device's cache."""
    size = sum(tensor_bytes(spec) for _, spec in case.tensors())
    return min(COPIES, max(2, math.ceil(TIMES * DEVICE_BYTES / max(size, 1))))


class Ring:
    """Copies of a case's inputs, and calls that take turns with them."""

    def __init__(self, members: Sequence[PreparedCase]) -> None:
        self._members = members
        self._turns: Iterator[PreparedCase] = itertools.cycle(members)

    def call(self) -> Any:
        return next(self._turns).call()

    def gradient(self, make: Callable[[PreparedCase], Gradient]) -> Gradient:
        """Returns a `Gradient` whose calls take turns with the copies."""
        return _RingGradient([make(member) for member in self._members])


class _RingGradient:
    """Takes turns with a `Gradient` of each copy; `backward` uses that of the latest `record`."""

    def __init__(self, members: Sequence[Gradient]) -> None:
        self._turns: Iterator[Gradient] = itertools.cycle(members)
        self._current = members[0]

    def record(self) -> None:
        self._current = next(self._turns)
        self._current.record()

    def backward(self) -> Any:
        return self._current.backward()
