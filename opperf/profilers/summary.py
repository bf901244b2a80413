"""From raw samples to a `Summary`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opperf.model import Summary

CONFIDENCE = 0.95
"""Level of the median's interval: the field's convention."""


def median_interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Confidence interval of the median of sorted samples, free of any distribution.

    The number of samples below the median is binomial with p = 1/2, so order statistics
    placed symmetrically around it bound it (Conover, Practical Nonparametric Statistics,
    section 3.2). Fewer than six samples cannot reach 95 %: their extremes are returned.
    """
    # Costs some 0.3 s to import, and is needed only once something has been measured.
    from scipy.stats import binom

    n = len(ordered)
    below = int(binom.ppf((1 - CONFIDENCE) / 2, n, 0.5))
    if below < 1:
        return ordered[0], ordered[-1]
    return ordered[below - 1], ordered[n - below]


def summarise(samples: Sequence[float], unit: str) -> Summary:
    """Statistics of at least one sample. Raises `ValueError` for none."""
    if not samples:
        raise ValueError("no samples to summarise")
    array = np.sort(np.asarray(samples, dtype=np.float64))
    median = float(np.median(array))
    p50, p90, p99 = (float(value) for value in np.percentile(array, [50, 90, 99]))
    low, high = median_interval(array.tolist())
    return Summary(
        unit=unit,
        n=len(array),
        mean=float(array.mean()),
        median=median,
        min=float(array[0]),
        max=float(array[-1]),
        p50=p50,
        p90=p90,
        p99=p99,
        mad=float(np.median(np.abs(array - median))),
        ci_low=low,
        ci_high=high,
    )
