"""The piecewise-constant fit of airspeed velocity (asv), and its rule for a regression.

Assumption: levels are constant between few jumps, and what is left has a first-order
autocorrelation.
Source: asv's documentation of `asv publish` and its description of step detection: least absolute
deviations with a penalty for each jump, which minimises a Bayesian information criterion.
Breaks as a rule for alarms: each series has its own penalty, and nothing counts the series.

All stretches of the points are candidates for a piece, so time and memory grow with the third and
the second power of their number: 0.1 s for 200 points, some ten for a thousand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from opperf.history.detection.series import Floats

PENALTY = 4.0
"""Of a piece, times ln n / n, in the criterion."""

SMALLEST_JUMP = 0.1
"""Share of the smallest difference of two points that the deviation counts as at least, so that the
criterion has a minimum where a fit is perfect."""

SEARCHES = 30
"""Steps of the golden section over the logarithm of the jump's price: to one part in a million."""

GOLDEN = (math.sqrt(5) - 1) / 2

LEAST_CHANGE = 0.05
"""Of a regression, relative to the level before."""

LEAST_COMMITS = 2
"""Of a piece, for it to count as a level."""


class Piece(NamedTuple):
    """A constant stretch from `start` to before `end`, its level, and the mean deviation."""

    start: int
    end: int
    level: float
    error: float


def fit_pieces(values: Floats) -> list[Piece]:
    """Returns the pieces of the best fit."""
    n = values.size
    if n == 0:
        return []
    # The criterion has no unit, but squares of nanoseconds in a year have too many digits.
    unit = float(np.max(np.abs(values))) or 1.0
    values = values / unit
    costs, medians = _stretches(values)
    differences = np.abs(np.diff(values))
    differences = differences[differences > 0]
    smallest = SMALLEST_JUMP * float(differences.min()) if differences.size else 1.0

    def pieces_at(price: float) -> tuple[float, list[tuple[int, int]]]:
        found = _cheapest(costs, price)
        fitted = np.concatenate([np.full(b - a, medians[a, b - 1]) for a, b in found])
        rest = values - fitted
        square = float(rest[:-1] @ rest[:-1])
        rho = float(rest[1:] @ rest[:-1]) / square if square > 0 else 0.0
        left = abs(float(rest[0])) + float(np.abs(rest[1:] - rho * rest[:-1]).sum())
        return PENALTY * math.log(max(n, 2)) / n * len(found) + math.log(smallest + left), found

    low, high = math.log(smallest / 10), math.log(float(costs[0, n - 1]) + smallest)
    inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    judged = [pieces_at(math.exp(price)) for price in inner]
    best = min(pieces_at(math.exp(high)), *judged)
    for _ in range(SEARCHES):
        if judged[0][0] <= judged[1][0]:
            high = inner[1]
            inner = [high - GOLDEN * (high - low), inner[0]]
            judged = [pieces_at(math.exp(inner[0])), judged[0]]
            best = min(best, judged[0])
        else:
            low = inner[0]
            inner = [inner[1], low + GOLDEN * (high - low)]
            judged = [judged[1], pieces_at(math.exp(inner[1]))]
            best = min(best, judged[1])
    pieces = []
    for a, b in best[1]:
        level = float(medians[a, b - 1])
        error = float(np.mean(np.abs(values[a:b] - level)))
        pieces.append(Piece(a, b, level * unit, error * unit))
    return pieces


def _stretches(values: Floats) -> tuple[Floats, Floats]:
    """Absolute deviations of each stretch [a, b] from its lower median, and that."""
    n = values.size
    costs, medians = np.full((n, n), np.inf), np.zeros((n, n))
    for length in range(1, n + 1):
        windows = np.lib.stride_tricks.sliding_window_view(values, length)
        level = np.sort(windows, axis=1)[:, (length - 1) // 2]
        first = np.arange(n - length + 1)
        costs[first, first + length - 1] = np.abs(windows - level[:, None]).sum(axis=1)
        medians[first, first + length - 1] = level
    return costs, medians


def _cheapest(costs: Floats, price: float) -> list[tuple[int, int]]:
    """The stretches that cover all points for the smallest sum of costs and of prices of jumps."""
    n = len(costs)
    total = np.zeros(n + 1)
    total[0] = -price
    begin = np.zeros(n + 1, dtype=np.int64)
    for end in range(1, n + 1):
        sums = total[:end] + costs[:end, end - 1] + price
        begin[end] = int(np.argmin(sums))
        total[end] = sums[begin[end]]
    stretches: list[tuple[int, int]] = []
    end = n
    while end:
        stretches.append((int(begin[end]), end))
        end = int(begin[end])
    return stretches[::-1]


def regressions(pieces: list[Piece], lower_is_better: bool) -> list[tuple[Piece, Piece]]:
    """Returns the pairs of levels between which the values got worse by more than the larger
    deviation and `LEAST_CHANGE`, and after which no level took that back."""
    levels = [piece for piece in pieces if piece.end - piece.start >= LEAST_COMMITS]
    sign = 1.0 if lower_is_better else -1.0
    found = []
    for index in range(len(levels) - 1):
        before, after = levels[index], levels[index + 1]
        least = min(sign * piece.level for piece in levels[index + 1 :])
        needed = max(before.error, after.error, LEAST_CHANGE * abs(before.level))
        if least - sign * before.level > needed:
            found.append((before, after))
    return found
