"""Benjamini and Hochberg's correction: the share of false ones among all that are rejected.

Assumption: p-values of true null hypotheses are uniform or larger, and depend on each other
positively if at all. Cases of one session share its disturbances, which move their effects the
same way: that is such a dependence among tests of one direction.
Source: Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, J. Royal Statistical
Society B 57 (1995); for dependence Y. Benjamini and D. Yekutieli, Annals of Statistics 29 (2001).
Breaks when p-values are too small to begin with: the correction is for their number, not for
their being wrong. Where no null hypothesis is false, every rejection is a false one, so that the
rate is the chance of any rejection at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opperf.compare.statistics.blocks import Floats


def rejected(p: Floats, q: float) -> NDArray[np.bool_]:
    """Which null hypotheses are rejected at a false discovery rate of q. NaN is no hypothesis."""
    from scipy.stats import false_discovery_control

    tested = ~np.isnan(p)
    found = np.zeros(p.shape, dtype=np.bool_)
    if tested.any():
        found[tested] = false_discovery_control(p[tested]) <= q
    return found


def level_of_next(p: Floats, q: float) -> float:
    """The p-value that would get one hypothesis more rejected; q where none is tested."""
    tested = np.count_nonzero(~np.isnan(p))
    if not tested:
        return q
    return min(1.0, (np.count_nonzero(rejected(p, q)) + 1) / tested) * q
