"""The shift that all cases have in common.

Assumption: fewer than half of the cases changed in one direction by themselves. The median over
cases of a block's effects is then the effect of an unchanged case, the block's common disturbance
included; the blocks are independent draws of a normal distribution, like those of `paired_t`. A
mean would count each case that did change as a part of the shift.
Source: P. J. Huber and E. M. Ronchetti, Robust Statistics (2nd ed., 2009), section 1.4, on the
median under contamination.
Breaks when most cases changed by themselves: the measurements cannot distinguish that from a shift,
and it is reported as one.

A shift is a finding (a compiler's flag, an allocator, a clock) and is not subtracted: a case's
effect contains it. It is one hypothesis per session, is tested once, at the first look, when all
cases are in all blocks, and needs no correction.

The control, A against A: whether the measurement as a whole is sound.

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

from opperf.statistics.blocks import Effects
from opperf.statistics.data import Shift, Thresholds, Verdict
from opperf.statistics.design import FEWEST_BLOCKS
from opperf.statistics.distributions import chi_squared_above
from opperf.statistics.moderation import moderate
from opperf.statistics.paired_t import Estimate, bounds, estimate, p_beyond, p_within

LEAST_CASES = 3
"""Below this number of cases their median is a case's own effect, or the mean of two."""

SHIFT_LEVEL = 0.05
"""Level of the test for a shift, and of its interval: the field's convention."""


def median_effects(effects: Effects) -> Effects:
    """The median over cases of each block's effects, as a single row. Only cases with a value in
    all blocks count, so that the blocks are comparable."""
    complete = effects.values[~np.isnan(effects.values).any(axis=1)]
    if not complete.size:
        return Effects(np.full((1, effects.values.shape[1]), np.nan), np.zeros(1))
    return Effects(np.median(complete, axis=0)[None, :], np.zeros(1))


def common_shift(
    comparison: Effects, thresholds: Thresholds, control: Effects | None = None
) -> Shift | None:
    """The shift of the cases and its verdict, by the tests of a single case; None for too few cases
    or blocks. The control's blocks around their own mean give its scatter too."""
    complete = ~np.isnan(comparison.values).any(axis=1)
    if comparison.values.shape[1] < FEWEST_BLOCKS or np.count_nonzero(complete) < LEAST_CASES:
        return None
    found = estimate(
        median_effects(comparison), None if control is None else median_effects(control)
    )
    (n,) = found.n
    figures = found.mean, *bounds(found, SHIFT_LEVEL / 2), p_beyond(found, 0.0)
    effect, low, high, p = (float(figure) for (figure,) in figures)
    (beyond,), (within,) = (
        p_beyond(found, thresholds.margin),
        p_within(found, thresholds.same_margin),
    )
    if beyond <= thresholds.changed_q:
        verdict = Verdict.REGRESSED if effect > 0 else Verdict.IMPROVED
    elif within <= thresholds.same_level:
        verdict = Verdict.SAME
    else:
        verdict = Verdict.AMBIGUOUS
    note = ""
    if p <= SHIFT_LEVEL:
        note = "all cases shifted together: look for a common cause"
    return Shift(verdict, effect, low, high, p, int(n), note)


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
