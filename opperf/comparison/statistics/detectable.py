"""The smallest change that a session could have found in a case.

Assumption: the case's scatter is the observed one, and the t statistic of a change noncentral t. A
change of that size, beyond the threshold, is found four times out of five at the last look alone;
earlier ones find a few more.
Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (2nd ed., 1988), on that
power as the field's convention; the normal approximation of noncentral t of N. L. Johnson and B. L.
Welch, Applications of the non-central t-distribution, Biometrika 31 (1940).
Breaks with few blocks, whose scatter is itself known to a factor of two only.
"""

from __future__ import annotations

import numpy as np

from opperf.comparison.statistics.blocks import Floats
from opperf.comparison.statistics.distributions import normal_exceeded, t_exceeded

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
