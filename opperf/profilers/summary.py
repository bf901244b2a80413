"""Statistics of raw samples."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from opperf.model import Summary

CONFIDENCE = 0.95
"""Level of the median's interval: the field's convention."""


FENCE = 1.5
"""Distance of Tukey's fences from the quartiles, in interquartile ranges (Exploratory Data
Analysis, 1977)."""


def median_interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Distribution-free confidence interval of the median of sorted samples.

    The number of samples below the median is binomial with p = 1/2, so order statistics
    placed symmetrically around it bound it (Conover, Practical Nonparametric Statistics,
    section 3.2). Fewer than six samples cannot reach 95 %: their extremes are returned.
    """
    n = len(ordered)
    rank = max(1, _lower_rank(n))
    return ordered[rank - 1], ordered[n - rank]


@functools.cache
def _lower_rank(n: int) -> int:
    """The 1-based rank of the lower bound; 0 if `n` samples are too few."""
    # Not `scipy.stats.binom`, which uses it and takes a second to import, in every worker.
    from scipy.special import bdtr

    cumulative = bdtr(np.arange(n + 1), n, 0.5)
    return int(np.searchsorted(cumulative, (1 - CONFIDENCE) / 2))


def half_width(samples: Sequence[float]) -> float:
    """Half-width of the median's confidence interval as a share of the median: its larger distance
    to a bound. Infinite where the median is zero and the interval is not."""
    ordered = sorted(samples)
    low, high = median_interval(ordered)
    middle = median(ordered)
    distance = max(high - middle, middle - low)
    return distance / middle if middle else (math.inf if distance else 0.0)


class Outliers(NamedTuple):
    """Numbers of samples beyond Tukey's fences."""

    low: int
    high: int


def outliers(samples: Sequence[float] | Any) -> Outliers:
    """The numbers of samples below the lower and above the upper of Tukey's fences."""
    array = np.asarray(samples, dtype=float)
    lower, upper = np.percentile(array, [25, 75])
    reach = FENCE * (upper - lower)
    return Outliers(int((array < lower - reach).sum()), int((array > upper + reach).sum()))


def summarise(samples: Sequence[float], unit: str, loops: int = 1) -> Summary:
    """Statistics of samples, each the mean of `loops` calls. Raises `ValueError` for no sample."""
    if not samples:
        raise ValueError("no samples to summarise")
    array = np.sort(np.asarray(samples, dtype=np.float64))
    middle = float(np.median(array))
    p50, p90, p99 = (float(value) for value in np.percentile(array, [50, 90, 99]))
    low, high = median_interval(array.tolist())
    beyond = outliers(array)
    return Summary(
        unit=unit,
        n=len(array),
        mean=float(array.mean()),
        median=middle,
        min=float(array[0]),
        max=float(array[-1]),
        p50=p50,
        p90=p90,
        p99=p99,
        mad=float(np.median(np.abs(array - middle))),
        ci_low=low,
        ci_high=high,
        loops=loops,
        outliers_low=beyond.low,
        outliers_high=beyond.high,
    )
