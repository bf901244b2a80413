"""How far all cases moved together.

Assumption: fewer than half of the cases changed in one direction by themselves. The median over
cases of a block's effects is then where the rest of them are, and the block's common disturbance
with it; the blocks are independent draws of a normal distribution, as in `paired_t`. A mean would
take each case that did change for a part of the shift.
Source: P. J. Huber and E. M. Ronchetti, Robust Statistics (2nd ed., 2009), section 1.4, on the
median under contamination.
Breaks when most cases changed by themselves: nothing in the measurements tells that from a
shift, and it is reported as one.

A shift is a finding (a compiler's flag, an allocator, a clock) and never centred away: a case's
effect contains it. It is one hypothesis a session and needs no correction.
"""

from __future__ import annotations

import numpy as np

from opperf.compare.statistics.blocks import Effects
from opperf.compare.statistics.data import Rules, Shift, Verdict
from opperf.compare.statistics.equivalence import p_within
from opperf.compare.statistics.paired_t import bounds, estimate, p_beyond

DETECTED = 0.05
"""Level of the test that there is any shift, and of its interval: the field's convention."""


def middle(effects: Effects) -> Effects:
    """The median over cases of each block's effects, as a single row. Only cases that are in all
    blocks count, so that the blocks are comparable."""
    complete = effects.values[~np.isnan(effects.values).any(axis=1)]
    if not complete.size:
        return Effects(np.full((1, effects.values.shape[1]), np.nan), np.zeros(1))
    return Effects(np.median(complete, axis=0)[None, :], np.zeros(1))


def common_shift(screen: Effects, rules: Rules) -> Shift:
    """The shift of the screen's cases, judged as one case is, but against the threshold itself:
    a median over cases does not have the noise of a single one."""
    found = estimate(middle(screen))
    (n,) = found.n
    if n < 2:
        return Shift(Verdict.AMBIGUOUS, note="fewer than two complete blocks in the screen")
    figures = found.mean, *bounds(found, DETECTED / 2), p_beyond(found, 0.0)
    effect, low, high, p = (float(figure) for (figure,) in figures)
    (beyond,), (within,) = p_beyond(found, rules.margin), p_within(found, rules.margin)
    if beyond <= rules.confirm_q:
        verdict = Verdict.REGRESSED if effect > 0 else Verdict.IMPROVED
    elif within <= rules.same_level:
        verdict = Verdict.SAME
    else:
        verdict = Verdict.AMBIGUOUS
    note = ""
    if p <= DETECTED:
        note = "the cases moved together: look for a cause that they share"
    return Shift(verdict, effect, low, high, p, int(n), note)
