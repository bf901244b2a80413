"""The levels before and after a split, their ratio and its interval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from opperf.history.detection.likelihood import best_split
from opperf.history.detection.series import Floats
from opperf.history.detection.trends import correlation
from opperf.history.detection.windows import AFTER, BEFORE, CLIP, WINDOW

NORMAL_95 = 1.96
"""Standard errors in a 95 % interval."""

FARTHEST = 8
"""Points by which later points may move a split: it was found with four points of the new level."""

PENDING_ERRORS = 5.0
"""Scales from the level from which on a last point is pending: some ten of five thousand series
have a stray point at a commit."""

MOST_PENDING = 2 * AFTER
"""Points that may be pending: after more, they were looked at with enough points and did not do."""


class Levels(NamedTuple):
    """Medians of logarithms before and after a split, and the interval of their difference."""

    before: float
    after: float
    low: float
    high: float

    @property
    def shift(self) -> float:
        """Their difference."""
        return self.after - self.before


def compare_levels(before: Floats, after: Floats) -> Levels:
    """Returns the levels of the points on both sides, and the 95 % interval of their difference:
    that of Hodges and Lehmann (Annals of Mathematical Statistics 34, 1963), of all differences of
    two points, by the normal approximation of the rank sum, widened by autocorrelation."""
    n, m = before.size, after.size
    differences = np.sort((after[:, None] - before[None, :]).ravel())
    centred = np.concatenate([before - np.median(before), after - np.median(after)])
    width = NORMAL_95 * math.sqrt(n * m * (n + m + 1) / 12) * correlation(centred)
    at = max(0, math.floor(n * m / 2 - width))
    one, other = float(np.median(before)), float(np.median(after))
    # The medians of points in two groups may be further apart than most pairs of points are.
    low, high = (
        min(float(differences[at]), other - one),
        max(float(differences[-1 - at]), other - one),
    )
    return Levels(one, other, low, high)


def refine(logs: Floats, scale: float, split: int, low: int, high: int) -> int:
    """Returns the split by all points from `low` to before `high`, near where it was found."""
    values = logs[low:high] / scale
    values = np.clip(values - np.median(values), -CLIP, CLIP)
    found = low + best_split(values, 2, AFTER).first
    return found if abs(found - split) <= FARTHEST else split


def surroundings(split: int, splits: list[int], n: int) -> tuple[int, int]:
    """Returns the stretch around a split without another one in it: at most a window before it and
    half of one after."""
    low = max([other for other in splits if other < split], default=0)
    high = min([other for other in splits if other > split], default=n)
    return max(low, split - WINDOW), min(high, split + WINDOW // 2)


def pending(logs: Floats, scale: float, start: int) -> int:
    """Returns the index of the first of the last points that are all far from the level on one
    side, and too few to tell; the number of points if there is none. `start` is the first point of
    the level."""
    n = logs.size
    level = np.median(logs[max(start, n - WINDOW) :])
    if abs(logs[-1] - level) < PENDING_ERRORS / 2 * scale:
        return n
    for first in range(max(start + BEFORE, n - MOST_PENDING), n):
        before = logs[max(start, first - WINDOW) : first]
        away = (logs[first:] - np.median(before)) / scale
        if np.all(away > PENDING_ERRORS) or np.all(away < -PENDING_ERRORS):
            return first
    return n
