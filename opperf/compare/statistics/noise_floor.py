"""What A differs from itself by: the margin that effects are held against, and the session's
own test.

Assumption: the control's blocks are disturbed as the others are, being measured in the same
session in the same way. Whatever they show of a difference is not one of the builds.
Source: the A/A test of controlled experiments: R. Kohavi, D. Tang and Y. Xu, Trustworthy Online
Controlled Experiments (2020), chapter 19.
Breaks when the control is measured at another time of day than the rest, or in other blocks: the
99th percentile of effects of four blocks says nothing of the effect of one. With fewer than a
hundred cases the percentile lies between the two largest effects, so that a single noisy case
raises the margin of all.

The control's own test holds effects against the threshold, not against delta. Delta contains the
99th percentile of the same effects, so that of fewer than a hundred cases none could ever be
beyond it, and of a thousand ten would have to be passed over before the eleventh could.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opperf.compare.statistics.blocks import Effects
from opperf.compare.statistics.common_shift import middle
from opperf.compare.statistics.data import Rules
from opperf.compare.statistics.false_discovery import rejected
from opperf.compare.statistics.paired_t import Estimate, estimate, p_beyond

PERCENTILE = 99.0
"""Of |log ratio| in the control: a case in a hundred may differ from itself by more."""


def noise_floor(control: Estimate) -> float | None:
    """The 99th percentile of |effect|, in log units; None if no case has two blocks."""
    sizes = np.abs(control.mean[control.n >= 2])
    return float(np.percentile(sizes, PERCENTILE)) if sizes.size else None


def differing(control: Estimate, rules: Rules) -> NDArray[np.bool_]:
    """Which cases of A differ from A by more than the threshold.

    By the test of the confirm phase. All null hypotheses are true if the session is sound, so
    that the chance of any rejection is at most the rate that is asked for: half of `control_q`.
    """
    return rejected(p_beyond(control, rules.margin), rules.control_q / 2)


def shifted(control: Effects, rules: Rules) -> bool:
    """Whether all cases of A together differ from A by more than the threshold. The other half of
    `control_q` is the chance that this is said of a sound session, at most."""
    (p,) = p_beyond(estimate(middle(control)), rules.margin)
    return bool(p <= rules.control_q / 2)
