"""Calls that find none of their data in a cache.

On a CPU everything is driven out between calls, by writing more than the last-level cache holds,
from as many threads as there are cores: each has caches of its own. On other devices the framework
flushes the caches, if it can (`Caches`); else the calls take turns with copies of their inputs,
more than the device's cache holds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from opperf.frameworks.base import Gradient
from opperf.model import Case
from opperf.runner.environment import usable_cores
from opperf.runner.guard import tensor_bytes
from opperf.runner.prepared import Prepared

TIMES = 3
"""How many times a cache's size is written, or rotated through: caches replace what was used least
recently only more or less, so that one time its size leaves some of what was there."""

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

FALLBACK_BYTES = 64 * 2**20
"""Size of the last-level cache where the system does not tell: that of large servers' sockets."""

DEVICE_BYTES = 128 * 2**20
"""Size of a GPU's level-2 cache, which no framework tells: the largest there are (126 MiB)."""

COPIES = 256
"""Copies of inputs at most: tiny ones would need millions."""

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
"""Suffixes of sizes in /sys."""


def last_level_bytes(caches: Path = CACHES) -> int:
    """Bytes of the CPU's last-level cache."""
    sizes = []
    for entry in caches.glob("index*"):
        try:
            level, text = (entry / "level").read_text(), (entry / "size").read_text().strip()
            sizes.append((int(level), int(text[:-1]) * UNITS[text[-1]]))
        except (OSError, ValueError, KeyError, IndexError):
            # A cache that does not say how large it is; another one may.
            continue
    return max(sizes)[1] if sizes else FALLBACK_BYTES


class Flush:
    """Drives everything out of the CPU's caches, each time it is called."""

    def __init__(self) -> None:
        cores = usable_cores()
        size = TIMES * last_level_bytes() // cores
        self._parts = [np.zeros(size, dtype=np.uint8) for _ in range(cores)]
        self._threads = ThreadPoolExecutor(cores)

    @property
    def bytes(self) -> int:
        """Bytes written each time."""
        return sum(part.nbytes for part in self._parts)

    def __call__(self) -> None:
        # NumPy lets the interpreter go while it computes, so the threads run at once.
        list(self._threads.map(_touch, self._parts))


def _touch(part: Any) -> None:
    np.add(part, 1, out=part)


def copies(case: Case) -> int:
    """How many copies of the inputs are more than a device's cache holds, as far as allowed."""
    size = sum(tensor_bytes(spec) for _, spec in case.tensors())
    return min(COPIES, max(2, math.ceil(TIMES * DEVICE_BYTES / max(size, 1))))


class Ring:
    """Copies of a case's inputs, and calls that take turns with them."""

    def __init__(self, members: Sequence[Prepared]) -> None:
        self._members = members
        self._turns: Iterator[Prepared] = itertools.cycle(members)

    def call(self) -> Any:
        """Call the case with the inputs whose turn it is."""
        return next(self._turns).call()

    def gradient(self, make: Callable[[Prepared], Gradient]) -> Gradient:
        """The differentiated calls, taking turns."""
        return _RingGradient([make(member) for member in self._members])


class _RingGradient:
    """A `Gradient` of each copy; `backward` is of the one that `record` took."""

    def __init__(self, members: Sequence[Gradient]) -> None:
        self._turns: Iterator[Gradient] = itertools.cycle(members)
        self._current = members[0]

    def record(self) -> None:
        self._current = next(self._turns)
        self._current.record()

    def backward(self) -> None:
        self._current.backward()
