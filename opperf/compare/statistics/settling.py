"""Sample size: the number of blocks that would decide an ambiguous case.

Assumption: the case's true effect and scatter are the observed ones. A test with that number of
blocks then succeeds nine times out of ten.
Source: W. C. Guenther, Sample size formulas for normal theory t tests, American Statistician 35
(1981); for two one-sided tests S. A. Julious, Sample sizes for clinical trials with normal data,
Statistics in Medicine 23 (2004).
Breaks with few blocks, whose scatter is itself known to a factor of two only: the number is a
forecast. Near delta it grows without limit.
"""

from __future__ import annotations

import numpy as np

from opperf.compare.statistics.blocks import Floats
from opperf.compare.statistics.paired_t import Estimate

POWER = 0.9
"""Chance of success. With an effect of zero both one-sided tests have to succeed, which they then
do four times out of five."""

MOST_BLOCKS = 1000
"""Largest number that is forecast: at a minute for a process, almost three days."""


def blocks_needed(of: Estimate, margin: float, beyond: float, within: float) -> Floats:
    """Number of blocks, from 2 to `MOST_BLOCKS`, that would decide each case: that it is beyond the
    margin, at the level `beyond`, if its mean is, else that it is within, at the level `within`.
    NaN if `MOST_BLOCKS` would not do, or the scatter is unknown."""
    distance = np.abs(np.abs(of.mean) - margin) / of.deviation
    outside = np.abs(of.mean) > margin
    return np.where(outside, _blocks_for(distance, beyond), _blocks_for(distance, within))


def _blocks_for(distance: Floats, level: float) -> Floats:
    """Number of blocks for a one-sided test at a distance from its margin, in standard deviations
    of a block."""
    from scipy.stats import t

    n = np.arange(2, MOST_BLOCKS + 1, dtype=np.float64)
    detectable = (t.isf(level, n - 1) + t.ppf(POWER, n - 1)) / np.sqrt(n)
    # Falls with n: the first n whose detectable distance is not above the distance.
    first = np.searchsorted(-detectable, -distance)
    return np.where(first < n.size, n[np.minimum(first, n.size - 1)], np.nan)
