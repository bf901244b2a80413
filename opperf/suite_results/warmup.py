"""The warm-up in stored rates of a program, by the criterion that operators have."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.instruments.profilers.sampling import WARM_CALLS, WARM_GAIN

MOST_SHARE = 2
"""Of a program that ends before it is warm, the second half counts: one part of so many is the
warm-up at most."""


def warmup_of(rates: Sequence[float]) -> int:
    """Returns how many of the first rates are of the warm-up: all up to the end of the first
    stretch whose best is no longer better than that of the stretch before it."""
    most = len(rates) // MOST_SHARE
    level = 0.0
    for begin in range(0, most, WARM_CALLS):
        best = max(rates[begin : begin + WARM_CALLS])
        if level and best * (1 - WARM_GAIN) < level:
            return min(most, begin + WARM_CALLS)
        level = max(best, 0.0)
    return most
