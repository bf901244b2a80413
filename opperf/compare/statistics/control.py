"""The control, A against A: whether the measurement as a whole is sound.

Assumption: the control's blocks have the same disturbances as the others, as they are measured in
the same session in the same way. A difference in them is a fault of the measuring.
Source: the A/A test of controlled experiments: R. Kohavi, D. Tang and Y. Xu, Trustworthy Online
Controlled Experiments (2020), chapter 19; one test of many p-values by R. A. Fisher, Statistical
Methods for Research Workers (4th ed., 1932), section 21.1.
Breaks where a fault belongs to B's build alone: no control can see that.

Two hypotheses, half of `control_q` each: that every case's effect is within the threshold, of all
cases together, and that their common shift is. A single case that differs from itself does not make
a session invalid. No effect of the control widens the margin of a verdict: its random error is in
the case's own scatter already.
"""

from __future__ import annotations

import numpy as np

from opperf.compare.statistics.blocks import Effects
from opperf.compare.statistics.common_shift import median_effects
from opperf.compare.statistics.data import Thresholds
from opperf.compare.statistics.moderation import moderate
from opperf.compare.statistics.paired_t import Estimate, estimate, p_beyond


def p_cases(control: Effects, scatter: Estimate, thresholds: Thresholds) -> float:
    """The p-value of all cases together; NaN without a case. `scatter` has the variances of the
    cases, over all their blocks."""
    from scipy.stats import combine_pvalues

    found = estimate(control)
    moderated = moderate(scatter.deviation**2, scatter.freedom)
    judged = Estimate.of(found.mean, moderated.variance, found.n, moderated.freedom)
    p = p_beyond(judged, thresholds.margin)
    p = p[~np.isnan(p)]
    return float(combine_pvalues(np.minimum(p, 1.0)).pvalue) if p.size else float("nan")


def p_shift(control: Effects, others: Effects, thresholds: Thresholds) -> float:
    """The p-value of the common shift; NaN without a block. The blocks of A and B around their own
    mean give its scatter too."""
    found = estimate(median_effects(control), median_effects(others))
    (p,) = p_beyond(found, thresholds.margin)
    return float(p)


def fault(control: Effects, others: Effects, thresholds: Thresholds) -> str:
    """How A differs from itself; empty where it does not. `others` are the blocks of A and B."""
    level = thresholds.control_q / 2
    if p_shift(control, others, thresholds) <= level:
        return "A differs from itself in all cases together"
    if p_cases(control, estimate(others, control), thresholds) <= level:
        return "A differs from itself over all cases"
    return ""
