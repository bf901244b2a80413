"""The control, A against A: whether the measurement as a whole is sound.

Assumption: the control's blocks have the same disturbances as the others, as they are measured in
the same session in the same way. A difference in them is a fault of the measuring.
Source: the A/A test of controlled experiments: R. Kohavi, D. Tang and Y. Xu, Trustworthy Online
Controlled Experiments (2020), chapter 19; one test of many p-values by R. A. Fisher, Statistical
Methods for Research Workers (4th ed., 1932), section 21.1; for p-values that depend on each other
M. B. Brown, A method for combining non-independent, one-sided tests of significance, Biometrics 31
(1975).
Breaks where a fault belongs to B's build alone: no control can see that.

Two hypotheses, half of `control_q` each: that the cases' common shift is within the threshold, and,
over all cases together, that their differences from it are. A session's blocks disturb all cases
alike, so that only the differences are nearly independent. No case alone makes a session invalid,
however much it differs from itself. No effect of the control widens the margin of a verdict: its
random error is in the case's own scatter already.
"""

from __future__ import annotations

import math

import numpy as np

from opperf.comparison.statistics.blocks import Effects
from opperf.comparison.statistics.common_shift import median_effects
from opperf.comparison.statistics.data import Thresholds
from opperf.comparison.statistics.distributions import chi_squared_above
from opperf.comparison.statistics.moderation import moderate
from opperf.comparison.statistics.paired_t import Estimate, estimate, p_beyond

SMALLEST_P = 0.01
"""Smallest p-value that counts: a hiccup in a block of a case is no fault of the whole."""


def p_cases(control: Effects, others: Effects, thresholds: Thresholds) -> float:
    """The p-value of all cases' differences from their common shift together; NaN with fewer than
    two cases. The blocks of A and B give the scatter of the cases too."""
    control, others = _without_shift(control), _without_shift(others)
    found, scatter = estimate(control), estimate(others, control)
    moderated = moderate(scatter.deviation**2, scatter.freedom)
    judged = Estimate.of(found.mean, moderated.variance, found.n, moderated.freedom)
    p = p_beyond(judged, thresholds.margin)
    p = np.clip(p[~np.isnan(p)], SMALLEST_P, 1.0)
    if p.size < 2:
        return float("nan")
    # The differences of k cases from what they have in common are k - 1 independent ones: Fisher's
    # statistic has the mean of all k, and by Brown's approximation the distribution of k - 1.
    independent = p.size - 1
    statistic = -2 * np.log(p).sum() * independent / p.size
    return chi_squared_above(statistic, 2 * independent)


def _without_shift(effects: Effects) -> Effects:
    return Effects(effects.values - median_effects(effects).values, effects.resolution)


def p_shift(control: Effects, others: Effects, thresholds: Thresholds) -> float:
    """The p-value of the common shift; NaN without a block. All blocks give its scatter."""
    found = estimate(median_effects(control), median_effects(others))
    (p,) = p_beyond(found, thresholds.margin)
    return float(p)


def fault(control: Effects, others: Effects, thresholds: Thresholds) -> str:
    """How A differs from itself; empty where it does not. `others` are the blocks of A and B."""
    level = thresholds.control_q / 2
    if p_shift(control, others, thresholds) <= level:
        (shift,) = estimate(median_effects(control)).mean
        return f"A differs from itself by {math.expm1(shift):+.1%} in all cases together"
    if p_cases(control, others, thresholds) <= level:
        differences = np.abs(estimate(_without_shift(control)).mean)
        share = math.expm1(float(np.nanmedian(differences)))
        return f"A differs from itself by {share:.1%} in the median case, in either direction"
    return ""
