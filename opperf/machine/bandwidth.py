"""How fast this machine moves memory: copies of as many bytes as a call moves."""

from __future__ import annotations

import time

LARGEST = 64 * 2**20
"""Bytes from which a copy's time is proportional to them: no cache holds as many."""

REPEATS = 20
MOST_S = 0.05
"""Copies, of which the fastest counts, as others were disturbed; and the seconds that they may
take, after three."""


def copy_ns(moved_bytes: int) -> float:
    """Returns the nanoseconds that one core takes to move bytes at the rate of a copy, half of them
    read and half written, in the caches that hold as many."""
    # The manager does without, as long as nothing is compared.
    import numpy as np

    size = max(1, min(moved_bytes, LARGEST) // 2)
    source = np.ones(size, "uint8")
    target = np.zeros_like(source)
    fastest, begun = float("inf"), time.perf_counter()
    for number in range(REPEATS):
        if number >= 3 and time.perf_counter() - begun > MOST_S:
            break
        start = time.perf_counter_ns()
        np.copyto(target, source)
        fastest = min(fastest, time.perf_counter_ns() - start)
    return max(1.0, fastest) * moved_bytes / (2 * size)
