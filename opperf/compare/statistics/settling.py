"""How many blocks would settle a case.

Assumption: the case's true effect and scatter are those seen so far. The number is that with
which a test would then succeed nine times out of ten.
Source: W. C. Guenther, Sample size formulas for normal theory t tests, American Statistician 35
(1981); for two one-sided tests S. A. Julious, Sample sizes for clinical trials with normal data,
Statistics in Medicine 23 (2004).
Breaks with few blocks, whose scatter is itself known to a factor of two only: the number is a
forecast. Near delta it grows beyond all bounds, as neither answer is then true to speak of.
"""

from __future__ import annotations

import numpy as np

from opperf.compare.statistics.blocks import Floats
from opperf.compare.statistics.paired_t import Estimate

POWER = 0.9
"""Chance of success that is asked for. With an effect of zero both one-sided tests have to
succeed, which is then still four times out of five."""

MOST_BLOCKS = 1000
"""Beyond this no number is given. At a minute for a process it is close to three days."""


def blocks_needed(of: Estimate, margin: float, beyond: float, within: float) -> Floats:
    """Blocks, from 2 to `MOST_BLOCKS`, that would show each case to be beyond the margin at the
    level `beyond` if its mean is, and within the margin at the level `within` if that is where its
    mean is; NaN if so many would not do, or the scatter is not known."""
    distance = np.abs(np.abs(of.mean) - margin) / of.deviation
    outside = np.abs(of.mean) > margin
    return np.where(outside, _needed(distance, beyond), _needed(distance, within))


def _needed(distance: Floats, level: float) -> Floats:
    """Blocks for a one-sided test at that distance from its margin, in deviations of a block."""
    from scipy.stats import t

    n = np.arange(2, MOST_BLOCKS + 1, dtype=np.float64)
    detectable = (t.isf(level, n - 1) + t.ppf(POWER, n - 1)) / np.sqrt(n)
    # Falls with n: the first n whose detectable distance is not above the distance.
    first = np.searchsorted(-detectable, -distance)
    return np.where(first < n.size, n[np.minimum(first, n.size - 1)], np.nan)
