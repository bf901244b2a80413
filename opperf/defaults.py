"""What is meant where nothing is said, for the command line and for Python alike."""

from __future__ import annotations

FRAMEWORK = "mxnet"
"""The first one there was."""

WARMUP = 10
RUNS = 50
"""Calls before timing, and calls timed: enough for a median on a quiet machine, and a whole
registry in minutes."""

MAX_TIME_S = 0.5
"""Seconds a pass is timed for where no count is given: the slowest default case takes half a
second a call on two cores, and would take most of the whole run's time for 60 calls."""

TIMEOUT_S = 300.0
"""Seconds a case may take. The slowest default case takes under a minute on two cores."""
