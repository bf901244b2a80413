"""Statistics of raw samples."""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import fmean, median

from opperf.model import Summary

CONFIDENCE = 0.95
"""Level of the median's interval: the field's convention."""


FENCE = 1.5
"""Tukey's fences in interquartile ranges from the quartiles (Exploratory Data Analysis, 1977)."""


def median_interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Distribution-free confidence interval of the median of sorted samples: order statistics
    around it, as the number of samples below it is binomial with p = 1/2 (Conover, Practical
    Nonparametric Statistics, section 3.2). Of fewer than six samples, the extremes."""
    n = len(ordered)
    rank = max(1, _lower_rank(n))
    return ordered[rank - 1], ordered[n - rank]


@functools.cache
def _lower_rank(n: int) -> int:
    """The 1-based rank of the lower bound; 0 if `n` samples are too few."""
    cumulative, rank = 0.0, 0
    while True:
        # The logarithm of the number of ways to choose `rank` of `n`.
        choices = math.lgamma(n + 1) - math.lgamma(rank + 1) - math.lgamma(n - rank + 1)
        cumulative += math.exp(choices - n * math.log(2))
        if cumulative > (1 - CONFIDENCE) / 2:
            return rank
        rank += 1


def half_width(samples: Sequence[float]) -> float:
    """Half-width of the median's interval as a share of the median: its larger distance to a bound.
    Infinite where the median is zero and the interval is not."""
    ordered = sorted(samples)
    low, high = median_interval(ordered)
    middle = median(ordered)
    distance = max(high - middle, middle - low)
    return distance / middle if middle else (math.inf if distance else 0.0)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of sorted samples lies, interpolated linearly."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def outliers(ordered: Sequence[float]) -> tuple[int, int]:
    """The numbers of sorted samples below and above Tukey's fences."""
    lower, upper = percentile(ordered, 0.25), percentile(ordered, 0.75)
    reach = FENCE * (upper - lower)
    low, high = bisect_left(ordered, lower - reach), bisect_right(ordered, upper + reach)
    return low, len(ordered) - high


def summarise(samples: Sequence[float], unit: str, loops: int = 1) -> Summary:
    """Statistics of samples, each the mean of `loops` calls. Raises `ValueError` for no sample."""
    # Without NumPy, whose functions take a third of a second the first time under Valgrind.
    if not len(samples):
        raise ValueError("no samples to summarise")
    ordered = sorted(map(float, samples))
    middle = median(ordered)
    low, high = median_interval(ordered)
    outliers_low, outliers_high = outliers(ordered)
    return Summary(
        unit=unit,
        n=len(ordered),
        mean=fmean(ordered),
        median=middle,
        min=ordered[0],
        max=ordered[-1],
        p50=middle,
        p90=percentile(ordered, 0.9),
        p99=percentile(ordered, 0.99),
        mad=median(abs(sample - middle) for sample in ordered),
        ci_low=low,
        ci_high=high,
        loops=loops,
        outliers_low=outliers_low,
        outliers_high=outliers_high,
    )
