"""The generalised likelihood ratio of a step: how far the mean after a split is from that before.

Assumption: noise of a known scale around a level; points are independent. Values count as far as
they are clipped, so that a few stray points do not decide.
Source: D. Siegmund and E. S. Venkatraman, Using the generalized likelihood ratio statistic for
sequential detection of a change-point, Annals of Statistics 23 (1995); over a window T. L.
Lai, Sequential changepoint detection in quality control and dynamical systems, J. Royal Statistical
Society B 57 (1995). For steps of normal noise no other statistic needs clearly fewer points.
Breaks with autocorrelation and heavy tails, which make large values frequent: `calibration` says
how frequent.

The statistic is the difference in standard errors: the square root of twice the logarithm of the
likelihood ratio. Where the points scatter more than their scale says, that counts instead.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opperf.history.detection.series import Floats, Ints

Singles = NDArray[np.float32]
"""Half the memory of doubles: the sums of some hundred values are right to five digits."""

LENGTHS = (4, 5, 6, 7, 8, 10, 12, 15, 19, 24, 30, 38, 48, 60, 75)
"""Points after a split that are tried at a look: each at most a quarter more than the one before,
as with a few points more or less after a step the statistic is 1 % smaller."""


class Factors(NamedTuple):
    """Factors of the statistic, by the end (rows) and the points after the split (columns)."""

    end: Ints
    first: Ints
    """Index of the first point after the split."""
    after: Singles
    before: Singles
    root: Singles
    freedom: Singles
    forbidden: Singles
    """0, and minus infinity where a side has too few values."""


@functools.lru_cache(maxsize=512)
def factors(n: int, before: int, first_end: int, every: int = 1) -> Factors:
    """Returns the factors for n values, at each end from `first_end`, or at one of so many, with at
    least so many values before a split."""
    end = np.arange(first_end, n + 1, every)[:, None]
    after = np.array([length for length in LENGTHS if length <= max(LENGTHS[0], n - before)])
    first = end - after
    is_allowed = first >= before
    first = np.where(is_allowed, first, 1)
    m, b = (end - first).astype(np.float64), first.astype(np.float64)
    columns = (1 / m, 1 / b, np.sqrt(m * b / (m + b)), np.broadcast_to(1 / (end - 2.0), m.shape))
    forbidden = np.where(is_allowed, 0.0, -np.inf)
    return Factors(
        end[:, 0], first, *(column.astype(np.float32) for column in (*columns, forbidden))
    )


def best_splits(values: Singles, by: Factors) -> tuple[Singles, Ints]:
    """Returns the largest statistic at each end, and its split: arrays of windows by ends for
    windows by values."""
    n = values.shape[1]
    sums = np.zeros((len(values), n + 1), np.float32)
    np.cumsum(values, axis=1, out=sums[:, 1:])
    squares = np.zeros_like(sums)
    np.cumsum(values * values, axis=1, out=squares[:, 1:])
    whole = sums[:, by.end, None]
    before = sums[:, by.first]
    after = whole - before
    shift = after * by.after
    within = squares[:, by.end, None] - after * shift
    after = before * by.before
    shift -= after
    within -= before * after
    within *= by.freedom
    np.maximum(within, 1, out=within)
    found: Singles = np.abs(shift)
    found *= by.root
    found /= np.sqrt(within, out=within)
    found += by.forbidden
    at = np.argmax(found, axis=2)
    best: Singles = np.take_along_axis(found, at[:, :, None], axis=2)[:, :, 0]
    return best, np.take_along_axis(by.first[None], at[:, :, None], axis=2)[:, :, 0]


class Split(NamedTuple):
    """The best split of a stretch of values."""

    first: int
    """Index of the first value after the split."""
    statistic: float


def statistic(before: Floats, after: Floats) -> float:
    """Returns the statistic of two sides, above 0 if the second one is higher."""
    m, b = after.size, before.size
    squares = float(((after - after.mean()) ** 2).sum() + ((before - before.mean()) ** 2).sum())
    spread = max(1.0, squares / max(1, m + b - 2))
    return float((after.mean() - before.mean()) * np.sqrt(m * b / (m + b) / spread))


def best_split(values: Floats, before: int, after: int) -> Split:
    """Returns the split of a stretch into two sides with the largest statistic; the index is 0 for
    too few values."""
    n = values.size
    if n < before + after:
        return Split(0, 0.0)
    first = np.arange(before, n - after + 1)
    below = np.cumsum(values)[first - 1]
    shift = (values.sum() - below) / (n - first) - below / first
    between = first * (n - first) / n * shift**2
    at = int(np.argmax(between))
    within = max(1.0, (float(((values - values.mean()) ** 2).sum()) - between[at]) / max(1, n - 2))
    return Split(int(first[at]), float(np.sqrt(between[at] / within)))
