"""The clock that times samples."""

from __future__ import annotations

import functools
from itertools import pairwise
from statistics import median
from time import perf_counter_ns

READINGS = 1000
"""Number of clock readings whose median is the cost of one: enough that interruptions of a few do
not count, in a fraction of a millisecond."""


@functools.cache
def resolution_ns() -> float:
    """Returns the clock's step: the median difference between consecutive readings that differ,
    which on most machines is the duration of a reading."""
    readings = [perf_counter_ns() for _ in range(READINGS)]
    steps = [after - before for before, after in pairwise(readings)]
    return float(median(step for step in steps if step > 0))
