"""Benjamini and Hochberg's correction, which limits the share of false rejections among all.

Assumption: p-values of true null hypotheses are uniform or larger, and depend on each other
positively if at all. Cases of one session share its disturbances, which move their effects the
same way: that is such a dependence among tests of one direction.
Source: Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, J. Royal Statistical
Society B 57 (1995); for dependence Y. Benjamini and D. Yekutieli, Annals of Statistics 29 (2001).
Breaks when p-values are too small to begin with: it corrects for their number only. Where all null
hypotheses are true, every rejection is false, and the rate is the chance of any rejection at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opperf.statistics.blocks import Floats


def reject(p: Floats, q: float) -> NDArray[np.bool_]:
    """Returns which null hypotheses are rejected at a false discovery rate of q. NaN is none."""
    tested = ~np.isnan(p)
    found = np.zeros(p.shape, dtype=np.bool_)
    if tested.any():
        found[tested] = _adjusted(p[tested]) <= q
    return found


def reject_together(families: Sequence[Floats], q: float) -> list[NDArray[np.bool_]]:
    """Returns the rejected null hypotheses of each of some arrays, of which all are one family."""
    ends = np.cumsum([p.size for p in families])[:-1]
    return np.split(reject(np.concatenate(families), q), ends)


def _adjusted(p: Floats) -> Floats:
    """The smallest rates at which each hypothesis is rejected."""
    order = np.argsort(p)
    rates = p[order] * (p.size / np.arange(1, p.size + 1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(rates[::-1])[::-1]
    return adjusted


def level_of_next(p: Floats, q: float) -> float:
    """Returns the largest p-value at which one more hypothesis would be rejected."""
    tested = np.count_nonzero(~np.isnan(p))
    if not tested:
        return q
    return min(1.0, (np.count_nonzero(reject(p, q)) + 1) / tested) * q
