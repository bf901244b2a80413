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

All functions take an `Estimate` of many cases and return an array; cases without a standard error
have NaN.

The smallest change that a session could have found in a case.

Assumption: the case's scatter is the observed one, and the t statistic of a change noncentral t. A
change of that size, beyond the threshold, is found four times out of five at the last look alone;
earlier ones find a few more.
Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (2nd ed., 1988), on that
power as the field's convention; the normal approximation of noncentral t of N. L. Johnson and B. L.
Welch, Applications of the non-central t-distribution, Biometrika 31 (1940).
Breaks with few blocks, whose scatter is itself known to a factor of two only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opperf.statistics.blocks import Effects, Floats
from opperf.statistics.distributions import normal_exceeded, t_above, t_below, t_exceeded

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
    """Standard error of the mean; NaN without a block or a degree of freedom."""
    n: Floats
    """Blocks in which the case is complete."""
    freedom: Floats

    @classmethod
    def of(cls, mean: Floats, variance: Floats, n: Floats, freedom: Floats) -> Estimate:
        """From the variance of a single block's effect."""
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(variance / n)
        return cls(mean, np.where((n >= 1) & (freedom > 0), error, np.nan), n, freedom)

    @property
    def deviation(self) -> Floats:
        """Standard deviation of a single block's effect."""
        return np.asarray(self.error * np.sqrt(self.n))


def estimate(effects: Effects, control: Effects | None = None) -> Estimate:
    """Estimates mean and standard error of each row, over the blocks that are not NaN. The scatter
    of the control's blocks around their own mean counts with that of the others."""
    mean, n, squares, freedom = _moments(effects.values)
    if control is not None:
        _, _, of_control, more = _moments(control.values)
        squares, freedom = squares + of_control, freedom + more
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = squares / freedom
    # The standard deviation of rounding to a step is the step over the root of 12; an effect of two
    # values less two, each halved, has that of a single value.
    least = np.maximum(effects.resolution**2 / 12, SMALLEST_ERROR**2 * n)
    return Estimate.of(mean, np.maximum(variance, least), n, freedom)


def _moments(values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, number, squares around the mean and their degrees of freedom, by row."""
    known = ~np.isnan(values)
    n = known.sum(axis=1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=1) / n
        squares = np.where(known, (values - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return mean, n, squares, np.maximum(n - 1, 0.0)


def p_above(of: Estimate, margin: float) -> Floats:
    """One-sided p-values of the null hypothesis that the effect is at most `margin`."""
    return t_above((of.mean - margin) / of.error, of.freedom)


def p_below(of: Estimate, margin: float) -> Floats:
    """One-sided p-values of the null hypothesis that the effect is at least `margin`."""
    return t_below((of.mean - margin) / of.error, of.freedom)


def p_beyond(of: Estimate, margin: float) -> Floats:
    """p-values of the null hypothesis that the effect is from -margin to margin. The probability of
    a mean at least as far from zero if the effect is at the margin, where it is largest: both tails
    count. For a margin of 0 it is the two-sided test, for one that is large against the standard
    error the one-sided test."""
    size = Estimate(np.abs(of.mean), of.error, of.n, of.freedom)
    return p_above(size, margin) + p_above(size, -margin)


def bounds(of: Estimate, level: float | Floats) -> tuple[Floats, Floats]:
    """A lower and an upper bound of the effect, each wrong with probability `level`, for all cases
    or by case: together the confidence interval of 1 - 2 level."""
    reach = t_exceeded(level, of.freedom) * of.error
    return np.asarray(of.mean - reach), np.asarray(of.mean + reach)


def p_within(of: Estimate, margin: float) -> Floats:
    """p-values of the null hypothesis that the effect is at the margin or beyond it: two one-sided
    tests of equivalence, rejected when both bounds of the interval lie within the margin. There is
    no correction for the number of cases.

    Source: D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power
    approach for assessing the equivalence of average bioavailability, J. Pharmacokinetics and
    Biopharmaceutics 15 (1987).
    """
    return np.asarray(np.maximum(p_above(of, -margin), p_below(of, margin)))


POWER = 0.8


def smallest_detectable(error: Floats, freedom: Floats, margin: float, level: Floats) -> Floats:
    """Log ratios beyond the margin that one-sided tests at those levels find with probability
    `POWER`; NaN where there is no standard error."""
    from scipy.special import gammaln

    critical = t_exceeded(level, freedom)
    # Mean of an estimated standard deviation, as a multiple of the true one.
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.sqrt(2 / freedom) * np.exp(gammaln((freedom + 1) / 2) - gammaln(freedom / 2))
    spread = np.sqrt(1 + critical**2 * (1 - mean**2))
    return np.asarray(margin + (critical * mean + normal_exceeded(1 - POWER) * spread) * error)
