"""Student's t tests of block effects against a margin, and confidence bounds.

Assumption: a case's block effects are independent draws of one normal distribution. An effect is
the difference of two means of two log medians of many iterations each, and so nearly normal however
skewed the iterations are.
Source: Student, The Probable Error of a Mean, Biometrika 6 (1908); the test of a null hypothesis
that is an interval: D. J. McCarthy and G. K. Smyth, Testing significance relative to a
fold-change threshold is a TREAT, Bioinformatics 25 (2009).
Breaks when processes fall into modes (a favourable alignment or not): with few blocks the scatter
of effects may be far too small by chance. Heavy tails only make the test more conservative. A
coarse clock gives equal effects by chance; the standard error is therefore at least the one that
rounding to the smallest observed step would cause. Where the clock is so coarse that all values of
a case are equal, its step is unknown: smaller changes are invisible, and the case is reported as
the same.

All functions take an `Estimate` of many cases and return an array; cases with fewer than two blocks
have NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opperf.compare.statistics.blocks import Effects, Floats

SMALLEST_ERROR = 1e-12
"""Smallest standard error, in log units: below the resolution of arithmetic on logarithms of times,
so that effects that are all equal have a t statistic that is large and finite, and 0 where they are
equal to the margin."""


@dataclass(frozen=True)
class Estimate:
    """Mean effect of each case, in log units."""

    mean: Floats
    """NaN without a block."""
    error: Floats
    """Standard error of the mean; NaN with fewer than two blocks."""
    n: Floats
    """Blocks in which the case is complete."""

    @property
    def deviation(self) -> Floats:
        """Standard deviation of a single block's effect."""
        return np.asarray(self.error * np.sqrt(self.n))


def estimate(effects: Effects) -> Estimate:
    """Estimates mean and standard error of each row, over the blocks that are not NaN."""
    values = effects.values
    known = ~np.isnan(values)
    n = known.sum(axis=1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=1) / n
        squares = np.where(known, (values - mean[:, None]) ** 2, 0.0).sum(axis=1)
        error = np.sqrt(squares / (n - 1) / n)
        # The standard deviation of rounding to a step is the step over the root of 12; an effect
        # of two values less two, each halved, has that of a single value.
        rounding = effects.resolution / np.sqrt(12 * n)
    error = np.maximum(error, np.maximum(rounding, SMALLEST_ERROR))
    return Estimate(mean, np.where(n >= 2, error, np.nan), n)


def p_above(of: Estimate, margin: float) -> Floats:
    """One-sided p-values of the null hypothesis that the effect is at most `margin`."""
    from scipy.stats import t

    return np.asarray(t.sf((of.mean - margin) / of.error, of.n - 1))


def p_below(of: Estimate, margin: float) -> Floats:
    """One-sided p-values of the null hypothesis that the effect is at least `margin`."""
    from scipy.stats import t

    return np.asarray(t.cdf((of.mean - margin) / of.error, of.n - 1))


def p_beyond(of: Estimate, margin: float) -> Floats:
    """p-values of the null hypothesis that the effect is from -margin to margin.

    The probability of a mean at least as far from zero if the effect is at the margin, where it
    is largest: both tails count. For a margin of 0 it is the two-sided test, for one that is
    large against the standard error the one-sided test.
    """
    size = Estimate(np.abs(of.mean), of.error, of.n)
    return p_above(size, margin) + p_above(size, -margin)


def bounds(of: Estimate, level: float | Floats) -> tuple[Floats, Floats]:
    """A lower and an upper bound of the effect, each wrong with probability `level`, for all cases
    or by case: together the confidence interval of 1 - 2 level."""
    from scipy.stats import t

    reach = t.isf(level, of.n - 1) * of.error
    return np.asarray(of.mean - reach), np.asarray(of.mean + reach)
