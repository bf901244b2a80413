"""The warm-up in stored rates of a program, by the criterion that programs have while they run."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.programs.observations import Observations

MOST_SHARE = 2
"""Of a program that ended before it was warm, the second half counts: the warm-up is at most one of
so many equal parts."""


def warmup_of(rates: Sequence[float]) -> int:
    """Returns how many of the first rates, all of them positive, are of the warm-up."""
    observations = Observations(stop=len(rates))
    for rate in rates:
        observations.add({"rate": rate})
    most = len(rates) // MOST_SHARE
    return most if observations.warmup is None else min(most, observations.warmup)
