"""What is meant where nothing is said, for the command line and for Python alike."""

from __future__ import annotations

WARMUP = 10
RUNS = 50
"""Calls before timing, and calls timed, of functions that take counts and are given none: enough
for a median on a quiet machine."""

PRECISION = 0.02
"""How well a median is to be known, as a share of it: half of the least change that is worth
looking for in one run."""

MAX_TIME_S = 1.0
"""Seconds a case is timed for at most where no count is given, shared among its passes: on a quiet
machine most are known to the precision in a third of it."""

SWEEP_S = 600.0
"""Seconds that all cases of a run are timed for together, at most, where no time is given: each has
less than `MAX_TIME_S` in a run of many. What a sweep of a registry takes beside, for inputs, memory
and operators that are slower than their share, leaves it within a quarter of an hour."""

LEAST_ELEMENTS, MOST_ELEMENTS = 2**8, 2**22
"""Elements of the largest tensor among random shapes: from a kilobyte of float32 to 16 MiB, beyond
the caches of most cores and quick for most operators."""

TIMEOUT_S = 300.0
"""Seconds a case may take. The slowest default case takes under a minute on two cores."""
