"""The scale of each strand's noise: how far its points, and means of some of them, scatter.

Assumption: the noise of a strand is the same all along; a step counts in a few differences only.
Source: differences, e.g. P. Hall, J. W. Kay and D. M. Titterington, Asymptotically optimal
difference-based estimation of variance in nonparametric regression, Biometrika 77 (1990),
winsorised as in P. J. Huber, Robust Statistics (1981), section 5.2. What neighbours have in common
widens a mean as in a first-order autoregression; estimates of some strands are drawn together as by
C. Stein, Proc. Third Berkeley Symposium 1 (1956).
Breaks with noise whose memory is longer than `LAG` points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from opperf.history.detection.series import Floats, medians

LAG = 5
"""Points whose difference gives the scale: far enough for what neighbours have in common to fade,
and near enough for a step to count in five differences only."""

PRIOR_POINTS = 10
"""Points' worth of the scale that is typical of all strands, in that of each: a handful of
differences is known to a factor of two."""

MEDIAN_OF_DIFFERENCES = 0.6745 * math.sqrt(2)
"""Median absolute difference of two draws of a standard normal distribution."""

MOST_DIFFERENCE = 2.5
"""Multiples of their standard deviation, by their median, that differences count as at most: of
normal noise one in eighty is larger, so that the scale is known nearly as well as without."""

ROOT_MEAN_SQUARE = 1.3983
"""That of the difference of two draws of a standard normal distribution, with that bound."""

CORRELATION_ERROR = 1.5
"""Standard error of `_correlations` of independent points, times the square root of their number:
by 3000 simulated strands each of 88 to 1000 points."""

LEAST_POINTS = 8 * LAG
"""Points from which on a strand has a correlation of its own: a step is in five of the far
differences, and of fewer points looks like one."""

MOST_CORRELATION = 0.9
"""Of neighbours: nearer to 1 a factor is that of a drift."""


def scales(strands: Sequence[Floats], floors: Sequence[float]) -> Floats:
    """Returns the standard deviation of each strand's points around their level, times the factor
    by which what neighbours have in common widens a mean of many."""
    sizes = np.array([logs.size for logs in strands], dtype=np.float64)
    own = _spreads(strands, LAG)
    widened = own * _widening(_correlations(own, _spreads(strands, 1)), sizes)
    known = widened[widened > 0]
    typical = float(np.median(known)) if known.size else 0.0
    pooled = np.sqrt((sizes * widened**2 + PRIOR_POINTS * typical**2) / (sizes + PRIOR_POINTS))
    # Equal points have no scale, and those of a machine without any noise are equal.
    return np.maximum(np.maximum(pooled, floors), 1e-9)


def _spreads(strands: Sequence[Floats], lag: int) -> Floats:
    """Standard deviations by the differences of points so far apart; 0 without any."""
    differences = [np.abs(logs[lag:] - logs[:-lag]) for logs in strands]
    most = MOST_DIFFERENCE * math.sqrt(2) / MEDIAN_OF_DIFFERENCES * medians(differences)
    squares: Floats = np.array(
        [
            float(np.mean(np.minimum(part, bound) ** 2)) if part.size else 0.0
            for part, bound in zip(differences, most.tolist(), strict=True)
        ]
    )
    found: Floats = np.sqrt(squares) / ROOT_MEAN_SQUARE
    return found


def _correlations(far: Floats, near: Floats) -> Floats:
    """Returns the correlation of neighbours, whose differences are that much smaller."""
    ratio: Floats = np.divide(near, far, out=np.ones_like(far), where=far > 0)
    return 1 - ratio**2


def _widening(correlation: Floats, sizes: Floats) -> Floats:
    """Factors by correlations, each as far from that of all strands as such differences are not by
    chance: a factor that is known to a tenth would cost more clear steps than it spares false
    ones."""
    known = sizes >= LEAST_POINTS
    if not known.any():
        return np.ones_like(correlation)
    typical = float(np.mean(correlation[known]))
    chance = CORRELATION_ERROR**2 / np.maximum(sizes, 1.0)
    real = max(0.0, float(np.var(correlation[known]) - np.mean(chance[known])))
    drawn = typical + (correlation - typical) * real / (real + chance)
    drawn = np.clip(np.where(known, drawn, typical), 0.0, MOST_CORRELATION)
    return np.sqrt((1 + drawn) / (1 - drawn))
