"""Probabilities and quantiles of Student's t, F, chi-squared, binomial and normal distributions.

By the functions of `scipy.special` that `scipy.stats` computes them with: `scipy.stats` takes more
than a second to import, in every command that reaches a verdict.
"""

from __future__ import annotations

import numpy as np

from opperf.statistics.blocks import Floats


def t_above(value: Floats, freedom: Floats) -> Floats:
    """The probability of a larger value under Student's t; NaN without degrees of freedom."""
    return t_below(-value, freedom)


def t_below(value: Floats, freedom: Floats) -> Floats:
    """The probability of a smaller value under Student's t; NaN without degrees of freedom."""
    from scipy.special import stdtr

    return np.asarray(stdtr(_positive(freedom), value))


def t_exceeded(level: float | Floats, freedom: Floats) -> Floats:
    """The value that Student's t exceeds with that probability; NaN without degrees of freedom."""
    from scipy.special import stdtrit

    freedom = _positive(freedom)
    # Of a level of 0 SciPy's quantile is infinite with the wrong sign.
    beyond_all = (np.asarray(level) == 0) & ~np.isnan(freedom)
    return np.where(beyond_all, np.inf, -stdtrit(freedom, level))


def _positive(freedom: Floats) -> Floats:
    return np.where(np.asarray(freedom) > 0, freedom, np.nan)


def f_above(value: Floats, over: Floats, under: float) -> Floats:
    """The probability of a larger value under F; `over` and `under` are degrees of freedom."""
    from scipy.special import fdtrc

    return np.asarray(fdtrc(over, under, value))


def f_quantile(share: Floats, over: float, under: float) -> Floats:
    """The value below which that share of F lies."""
    from scipy.special import fdtri

    return np.asarray(fdtri(over, under, share))


def chi_squared_above(value: float, freedom: float) -> float:
    """The probability of a larger value under chi-squared."""
    from scipy.special import chdtrc

    return float(chdtrc(freedom, value))


def binomial_at_most(count: int, n: int, share: float) -> float:
    """The probability of at most so many successes in n trials."""
    from scipy.special import bdtr

    return float(bdtr(count, n, share))


def normal_exceeded(level: float) -> float:
    """The value that a standard normal variable exceeds with that probability."""
    from scipy.special import ndtri

    return -float(ndtri(level))
