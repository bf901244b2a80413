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
"""

from __future__ import annotations

import numpy as np

from opperf.comparison.statistics.blocks import Effects
from opperf.comparison.statistics.data import Shift, Thresholds, Verdict
from opperf.comparison.statistics.design import FEWEST_BLOCKS
from opperf.comparison.statistics.paired_t import bounds, estimate, p_beyond, p_within

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
