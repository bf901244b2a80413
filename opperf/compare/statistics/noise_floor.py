"""The noise floor, from A against A, and the tests of whether the session is valid.

Assumption: the control's blocks have the same disturbances as the others, as they are measured in
the same session in the same way. A difference in them is not one of the builds.
Source: the A/A test of controlled experiments: R. Kohavi, D. Tang and Y. Xu, Trustworthy Online
Controlled Experiments (2020), chapter 19.
Breaks when the control is measured at another time of day than the rest, or in other blocks: the
99th percentile of effects of four blocks is not that of effects of one. With fewer than a hundred
cases the percentile lies between the two largest effects, so that a single noisy case raises the
margin of all.

The control's own tests are against the threshold, not against delta. Delta contains the 99th
percentile of the same effects, so that of fewer than a hundred cases none could ever be beyond it,
and of a thousand cases at most ten.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opperf.compare.statistics.blocks import Effects
from opperf.compare.statistics.common_shift import median_effects
from opperf.compare.statistics.data import Thresholds
from opperf.compare.statistics.false_discovery import reject
from opperf.compare.statistics.paired_t import Estimate, estimate, p_beyond

PERCENTILE = 99.0
"""Percentile of |log ratio| in the control: one case in a hundred may differ from itself by
more."""


def noise_floor(control: Estimate) -> float | None:
    """The 99th percentile of |effect|, in log units; None if no case has two blocks."""
    sizes = np.abs(control.mean[control.n >= 2])
    return float(np.percentile(sizes, PERCENTILE)) if sizes.size else None


def find_differing(control: Estimate, thresholds: Thresholds) -> NDArray[np.bool_]:
    """Which cases of A differ from A by more than the threshold, by the test of the confirm phase.

    In a sound session all null hypotheses are true, and the chance of any rejection is at most the
    false discovery rate: half of `control_q`.
    """
    return reject(p_beyond(control, thresholds.margin), thresholds.control_q / 2)


def is_shifted(control: Effects, thresholds: Thresholds) -> bool:
    """Whether all cases of A together differ from A by more than the threshold. The level is the
    other half of `control_q`."""
    (p,) = p_beyond(estimate(median_effects(control)), thresholds.margin)
    return bool(p <= thresholds.control_q / 2)
