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

import functools
import math
from typing import NamedTuple

import numpy as np

from opperf.statistics.blocks import Floats
from opperf.statistics.distributions import f_above, f_quantile

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

NEGLIGIBLE = 1e-5
"""Share of the median variance below which a case has no scatter of its own, as where a clock is so
coarse that all its values are equal: it is neither moderated nor a part of the fit."""

STEPS = 400
"""Quantiles that stand for the prior: its winsorised variance is right to three digits."""

FREEDOMS = np.geomspace(SMALLEST_FREEDOM, MOST_FREEDOM, 60)
"""Degrees of freedom of the prior for which the spread of variances is computed; those between are
interpolated: right to some three digits, too."""


class Moderated(NamedTuple):
    """Variances and their degrees of freedom, by case."""

    variance: Floats
    freedom: Floats
    prior_freedom: Floats
    """Part of the freedom that the other cases lend."""


def moderate(variance: Floats, freedom: Floats) -> Moderated:
    """The moderated variances, and the freedom of t statistics; NaN without a variance."""
    known = (freedom > 0) & (variance > 0)
    if known.any():
        known &= variance > NEGLIGIBLE * np.median(variance[known])
    prior = np.zeros(variance.shape)
    prior[known], centre = _prior(variance[known], freedom[known])
    with np.errstate(invalid="ignore", divide="ignore"):
        moderated = (prior * centre + freedom * variance) / (prior + freedom)
    return Moderated(moderated, freedom + prior, prior)


def _prior(variance: Floats, freedom: Floats) -> tuple[Floats, float]:
    """The degrees of freedom that each case is lent, and the variance they stand for."""
    none = np.zeros(variance.shape), 0.0
    if variance.size < LEAST_CASES:
        return none
    most = MOST_FREEDOM if variance.size >= FEW_CASES else MOST_FREEDOM_OF_FEW
    lent, common = _fit(variance, freedom)
    lent = min(lent, most)
    return (lent * _shares(variance / common, freedom, lent), common) if lent > 0 else none


def _fit(variance: Floats, freedom: Floats) -> tuple[float, float]:
    """Degrees of freedom and scale of the prior under which the logarithms of the variances have
    the mean and the variance that they have, their tails drawn in; zeros where there is none."""
    logs = np.log(variance)
    seen = np.clip(logs, *np.quantile(logs, (TAILS[0], 1 - TAILS[1])))
    spread = float(np.var(seen, ddof=1))
    # Cases that are decided early have fewer blocks than others.
    freedoms, counts = np.unique(freedom, return_counts=True)
    means, variances = _expected(tuple(freedoms), tuple(counts / freedom.size))
    if spread >= variances[0]:
        return 0.0, 0.0
    # The larger the prior, the smaller the spread.
    log_lent = np.interp(spread, variances[::-1], np.log(FREEDOMS)[::-1])
    mean = np.interp(log_lent, np.log(FREEDOMS), means)
    return math.exp(log_lent), math.exp(float(seen.mean() - mean))


@functools.lru_cache(maxsize=32)
def _expected(freedoms: tuple[float, ...], shares: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Mean and variance, by the prior's `FREEDOMS`, that the logarithms of variances have under a
    prior around 1, their tails drawn in alike. `shares` of the cases have the `freedoms`."""
    found = [_expected_under(lent, freedoms, shares) for lent in FREEDOMS]
    means, variances = np.array(found).T
    return means, variances


def _expected_under(
    lent: float, freedoms: tuple[float, ...], shares: tuple[float, ...]
) -> tuple[float, float]:
    logs = np.concatenate([_log_quantiles(freedom, lent) for freedom in freedoms])
    weights = np.repeat(shares, STEPS) / STEPS
    order = np.argsort(logs)
    logs, weights = logs[order], weights[order]
    ends = np.searchsorted(np.cumsum(weights), (TAILS[0], 1 - TAILS[1]))
    logs = np.clip(logs, *logs[ends])
    mean = float(weights @ logs)
    return mean, float(weights @ (logs - mean) ** 2)


@functools.cache
def _log_quantiles(freedom: float, lent: float) -> Floats:
    return np.asarray(np.log(f_quantile((np.arange(STEPS) + 0.5) / STEPS, freedom, lent)))


def _shares(ratio: Floats, freedom: Floats, lent: float) -> Floats:
    """The share of the prior that each case is lent, from its variance as a multiple of the common
    one: all of it, or, where more cases are as noisy as it than the prior has, the less the more
    there are. A noisier case never has a larger share."""
    p = f_above(ratio, freedom, lent)
    share: Floats = np.minimum(1.0, p * p.size / (_ranks(p) - 0.5))
    order = np.argsort(p)
    ordered = share[order]
    means = np.cumsum(ordered) / np.arange(1, p.size + 1)
    least = int(np.argmin(means))
    ordered[: least + 1] = means[least]
    share[order] = np.maximum.accumulate(ordered)
    return share


def _ranks(values: Floats) -> Floats:
    """The place of each value among the sorted, from 1; equal ones share their mean place."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[which])
