"""Defaults that the command line and the Python functions share."""

from __future__ import annotations

WARMUP = 10
RUNS = 50
"""Warmup calls and timed calls of the Python functions that take these counts: enough for a median
on a quiet machine."""

PRECISION = 0.02
"""Target half-width of the median's 95 % confidence interval, as a share of the median: half of the
smallest change that is worth looking for in one run."""

MAX_TIME_S = 1.0
"""Limit on the seconds a case is timed for, shared among its passes: on a quiet machine most cases
reach the precision in a third of it."""

SWEEP_S = 600.0
"""Limit on the seconds that all cases of a run are timed for together: in a run of many, each has
less than `MAX_TIME_S`. With inputs, memory and operators slower than their share, a sweep of a
registry stays within a quarter of an hour."""

WARMUP_SHARE = 0.2
"""Maximum time of a pass's warmup, as a share of the pass's time, to which it is added."""

MIN_RUNS = 3
"""Fewest samples in any time: fewer have no useful median."""

MIN_ELEMENTS, MAX_ELEMENTS = 2**8, 2**22
"""Limits on the elements of a random case's largest tensor: from a kilobyte of float32 to 16 MiB,
which exceeds the caches of most cores and is quick for most operators."""

TIMEOUT_S = 300.0
"""Limit on the seconds a case takes. The slowest default case takes under a minute on two cores."""

CASE_TIME_S = 0.05
"""Seconds of a case in a process of a session up to the first look. On a loaded machine, a session
took as long for the same standard error with 0.02 to 0.1 s, and twice as long with 0.2 s
(`benchmarks/verdicts/visit_lengths.py`)."""

SHORTEST_VISIT_S, LONGEST_VISIT_S = 0.02, 0.05
"""Limits on the seconds of a case in a process after the first look. Below, its first calls and its
inputs take longer than its samples; with 0.1 s a session takes a tenth longer and finds 79 % of the
changes of 5 % in place of 76 % (`benchmarks/verdicts/visit_allocation.py`)."""

BLOCK_CAP = 12
"""Most blocks of a session: ten small operators take them in a minute and a half. What is found is
in the tables of `benchmarks/verdicts/simulation.py`."""

FAIL_ON = ("regressed", "different", "missing")
"""Findings of a comparison that make a command fail: a faster B that computes something else, or
cannot compute what A does, is no better one."""

ASSUMED_SCATTER = 0.05
"""Standard deviation of a program's speed from one start to the next where it is not known, as a
share: starts of one program on one quiet machine differ by 1 to 5 %."""
