"""From raw samples to a `Summary`."""

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
"""Interquartile ranges beyond the quartiles where an outlier begins (Tukey, Exploratory Data
Analysis, 1977)."""


def median_interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Confidence interval of the median of sorted samples, free of any distribution.

    The number of samples below the median is binomial with p = 1/2, so order statistics
    placed symmetrically around it bound it (Conover, Practical Nonparametric Statistics,
    section 3.2). Fewer than six samples cannot reach 95 %: their extremes are returned.
    """
    n = len(ordered)
    below = max(1, _left_out(n))
    return ordered[below - 1], ordered[n - below]


@functools.cache
def _left_out(n: int) -> int:
    """The rank, from one, of the sample that is the interval's lower end: the least whose binomial
    probability of not being exceeded reaches half of what the interval may miss."""
    # What `scipy.stats.binom` is made of; that takes a second to import, in every worker.
    from scipy.special import bdtr

    reached = bdtr(np.arange(n + 1), n, 0.5)
    return int(np.searchsorted(reached, (1 - CONFIDENCE) / 2))


def half_width(samples: Sequence[float]) -> float:
    """How far the median's interval reaches from it, at most, as a share of it; infinite where
    the median is zero and the interval is not."""
    ordered = sorted(samples)
    low, high = median_interval(ordered)
    middle = median(ordered)
    reach = max(high - middle, middle - low)
    return reach / middle if middle else (math.inf if reach else 0.0)


class Outliers(NamedTuple):
    """Samples beyond Tukey's fences, counted."""

    low: int
    high: int


def outliers(samples: Sequence[float] | Any) -> Outliers:
    """How many samples are far below, and far above, the others."""
    array = np.asarray(samples, dtype=float)
    lower, upper = np.percentile(array, [25, 75])
    reach = FENCE * (upper - lower)
    return Outliers(int((array < lower - reach).sum()), int((array > upper + reach).sum()))


def summarise(samples: Sequence[float], unit: str, loops: int = 1) -> Summary:
    """Statistics of at least one sample, each the mean of `loops` calls. Raises `ValueError` for
    none."""
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
