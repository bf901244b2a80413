"""Sequential p-values: tests that may be looked at several times.

Assumption: the estimates of successive looks are means of independent blocks, so that those of
looks i and j have a correlation of sqrt(n_i / n_j). A level alpha is spent over the looks by the
function of Hwang, Shih and DeCani; the sequential p-value after a look is the smallest alpha whose
boundary that look's nominal p-value has crossed, and its running minimum is a p-value whenever
one stops.
Source: I. K. Hwang, W. J. Shih and J. S. DeCani, Group sequential designs using a family of type I
error probability spending functions, Statistics in Medicine 9 (1990); boundaries by the recursive
integration of P. Armitage, C. K. McPherson and B. C. Rowe, J. Royal Statistical Society A 132
(1969); nominal levels carried over to t tests as in C. Jennison and B. W. Turnbull, Group
Sequential Methods (2000), section 3.8; sequential p-values Q. Liu and K. M. Anderson, On adaptive
extensions of group sequential trials, J. American Statistical Association 103 (2008).
Breaks with very few blocks at the first look, where a t test's boundary is the normal one's in its
level only; and a little for a case that failed in some blocks, whose looks are correlated less or
more than those of the schedule.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from opperf.comparison.statistics.blocks import Floats

GAMMA = -2.0
"""Shape of the spending: a seventh of the level at a third of the blocks, a quarter at half of
them. More negative spends later."""

ALPHAS = np.geomspace(1e-9, 0.5, 60)
"""Levels whose boundaries are computed; between them, logarithms are interpolated."""

REACH = 8.0
"""Standard deviations below zero where the integration over the last look's estimate begins: less
than the smallest of the levels lies beyond."""

NODES = 96
"""Of the Gauss-Legendre rule, which is right to ten digits with them: the integrand is smooth, and
some twenty of its standard deviations wide."""


BISECTIONS = 50
"""Halvings of the interval in which a boundary is sought: to the last digits of a float."""


def spent(alpha: float | Floats, fraction: float) -> Floats:
    """The part of a level that is spent once that fraction of the blocks is there."""
    return np.asarray(alpha * np.expm1(-GAMMA * fraction) / np.expm1(-GAMMA))


@functools.cache
def nominal_levels(looks: tuple[int, ...]) -> Floats:
    """The one-sided nominal level of each look, a column, for each of `ALPHAS`, a row. `looks` are
    the numbers of blocks after which one looks, ascending; the last one ends it."""
    from scipy.special import ndtr, roots_legendre

    # In terms of the sum of all effects: a Brownian motion of variance n / looks[-1].
    times = [n / looks[-1] for n in looks]
    targets = np.diff([np.zeros(ALPHAS.size), *(spent(ALPHAS, time) for time in times)], axis=0)
    unit, unit_weights = roots_legendre(NODES)
    levels: list[Floats] = []
    # By alpha and node.
    nodes, weights = np.zeros((ALPHAS.size, 1)), np.ones((ALPHAS.size, 1))
    for before, now, target in zip([0.0, *times[:-1]], times, targets, strict=True):
        step = math.sqrt(now - before)
        bound = _bound(nodes, weights, step, target)
        levels.append(ndtr(-bound / math.sqrt(now)))
        low = -REACH * math.sqrt(now)
        at = low + (bound - low)[:, None] * (unit + 1) / 2
        steps = (at[:, :, None] - nodes[:, None, :]) / step
        density = np.einsum("aij,aj->ai", np.exp(-(steps**2) / 2), weights)
        density /= step * math.sqrt(2 * math.pi)
        nodes, weights = at, density * unit_weights * (bound - low)[:, None] / 2
    return np.stack(levels, axis=1)


def _bound(nodes: Floats, weights: Floats, step: float, target: Floats) -> Floats:
    """The boundaries that a step from these nodes crosses with the probabilities `target`."""
    from scipy.special import ndtr

    low, high = np.full(target.shape, -REACH), np.full(target.shape, REACH)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        crossed = (weights * ndtr((nodes - middle[:, None]) / step)).sum(axis=1)
        low = np.where(crossed > target, middle, low)
        high = np.where(crossed > target, high, middle)
    return np.asarray((low + high) / 2)


def sequential_p(p: Floats, look: int, looks: Sequence[int]) -> Floats:
    """The sequential p-value of a one-sided p-value at a look (its place in `looks`, from 0). 1 for
    what is above every boundary; NaN stays."""
    levels = nominal_levels(tuple(looks))[:, look]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.exp(np.interp(np.log(p), np.log(levels), np.log(ALPHAS)))
    found = np.where(p > levels[-1], 1.0, found)
    # Below the table: levels are all but proportional to alpha there.
    return np.where(p < levels[0], p * (ALPHAS[0] / levels[0]), found)


def nominal_level(alpha: float, look: int, looks: Sequence[int]) -> float:
    """The one-sided nominal level of a look at which a level `alpha` over all looks is spent."""
    levels = nominal_levels(tuple(looks))[:, look]
    return float(np.exp(np.interp(np.log(alpha), np.log(ALPHAS), np.log(levels))))
