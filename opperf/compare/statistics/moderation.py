"""Moderated variances: those of many cases, each drawn towards where the others are.

Assumption: the variances of the cases are a scaled inverse chi-squared variable around a common
one, so that each has, beside its own degrees of freedom, `prior_freedom` more that the others
lend it.
Source: G. K. Smyth, Linear models and empirical Bayes methods for assessing differential
expression in microarray experiments, Statistical Applications in Genetics and Molecular Biology 3
(2004); for cases that are far noisier than the others B. Phipson, S. Lee, I. J. Majewski, W. S.
Alexander and G. K. Smyth, Robust hyperparameter estimation protects against hypervariable genes,
Annals of Applied Statistics 10 (2016).
Breaks with few cases, whose variances say little of what is common to them: the prior is bounded,
more tightly for few cases, and absent for fewer than `LEAST_CASES`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from opperf.compare.statistics.blocks import Floats

LEAST_CASES = 3
"""Below this number of cases no variance is moderated: two variances have no spread to speak of."""

FEW_CASES = 8
MOST_FREEDOM_OF_FEW = 4.0
"""Below `FEW_CASES` cases the prior counts as so many degrees of freedom at most: the spread of a
handful of variances is known to a factor of several."""

MOST_FREEDOM = 20.0
"""Degrees of freedom of the prior, at most: ten times what a case has of its own after a few
blocks. Cases whose variances look alike by chance would otherwise have one in common."""

TAILS = (0.05, 0.1)
"""Shares of the smallest and of the largest variances that are drawn in to the quantile there
before the prior is fitted, so that a few noisy cases do not widen it for all."""

SMALLEST_FREEDOM = 0.1
"""A prior of less is none: variances that spread so far have nothing in common."""

STEPS = 400
"""Quantiles that stand for the prior's distribution: its winsorised variance is then right to some
three digits."""

OUTLYING = 1.0


class Moderated(NamedTuple):
    """Variances and their degrees of freedom, by case."""

    variance: Floats
    freedom: Floats
    prior_freedom: Floats
    """Part of the freedom that the other cases lend."""


def moderate(variance: Floats, freedom: Floats) -> Moderated:
    """The moderated variances of cases. NaN where a case has no variance.

    Their t statistics have `freedom` degrees of freedom.
    """
    known = (freedom > 0) & (variance > 0)
    lent, common = _prior(variance[known], freedom[known])
    prior = np.zeros(variance.shape)
    centre = np.zeros(variance.shape)
    prior[known], centre[known] = lent, common
    with np.errstate(invalid="ignore", divide="ignore"):
        moderated = (prior * centre + freedom * variance) / (prior + freedom)
    return Moderated(moderated, freedom + prior, prior)


def _prior(variance: Floats, freedom: Floats) -> tuple[Floats, float]:
    """The degrees of freedom that each case is lent, and the variance they stand for."""
    none = np.zeros(variance.shape), 0.0
    if variance.size < LEAST_CASES:
        return none
    most = MOST_FREEDOM if variance.size >= FEW_CASES else MOST_FREEDOM_OF_FEW
    lent, common = _fit(variance, float(np.median(freedom)))
    lent = min(lent, most)
    return (_shares(variance, freedom, lent, common), common) if lent > 0 else none


def _fit(variance: Floats, freedom: float) -> tuple[float, float]:
    """Degrees of freedom and scale of the prior under which the logarithms of the variances have
    the mean and the variance that they have, their tails drawn in."""
    from scipy.optimize import brentq

    seen = _drawn_in(np.sort(np.log(variance)))
    spread = float(np.var(seen, ddof=1))

    def excess(log_lent: float) -> float:
        return spread - float(np.var(_expected(freedom, math.exp(log_lent))))

    smallest, largest = math.log(SMALLEST_FREEDOM), math.log(MOST_FREEDOM)
    if excess(largest) <= 0:
        log_lent = largest
    elif excess(smallest) >= 0:
        return 0.0, 0.0
    else:
        log_lent = brentq(excess, smallest, largest, xtol=1e-6)
    lent = math.exp(log_lent)
    return lent, math.exp(float(seen.mean() - _expected(freedom, lent).mean()))


def _drawn_in(ordered: Floats) -> Floats:
    low, high = np.quantile(ordered, (TAILS[0], 1 - TAILS[1]))
    return np.asarray(np.clip(ordered, low, high))


def _expected(freedom: float, lent: float) -> Floats:
    """Logarithms of variances as the prior has them around 1, at even steps of their probability,
    the tails drawn in alike."""
    from scipy.stats import f

    return _drawn_in(np.log(f.ppf((np.arange(STEPS) + 0.5) / STEPS, freedom, lent)))


def _shares(variance: Floats, freedom: Floats, lent: float, common: float) -> Floats:
    """What each case is lent: all of it, or, where more cases are as noisy as it than the prior
    has, the less the more there are."""
    from scipy.stats import f, rankdata

    p = f.sf(variance / common, freedom, lent)
    expected = (rankdata(p) - 0.5) / p.size
    return np.asarray(lent * np.minimum(1.0, p / expected) ** OUTLYING)
