"""Two one-sided tests of equivalence: whether an effect is within a margin.

Assumption: that of `paired_t`. A case is the same when both "as low as -margin" and "as high as
margin" are rejected, which is when both bounds of its interval lie within the margin. A test that
finds no difference does not show equivalence: it may have had too few blocks.
Source: D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach
for assessing the equivalence of average bioavailability, J. Pharmacokinetics and Biopharmaceutics
15 (1987).
Breaks where `paired_t` does: a standard error that is too small by chance shows an equivalence that
is not there.

There is no correction for the number of cases: of those that changed by exactly the margin, a share
of `level` is reported as the same, of those that changed by more, fewer.
"""

from __future__ import annotations

import numpy as np

from opperf.comparison.statistics.blocks import Floats
from opperf.comparison.statistics.paired_t import Estimate, p_above, p_below


def p_within(of: Estimate, margin: float) -> Floats:
    """p-values of the null hypothesis that the effect is at the margin or beyond it."""
    return np.asarray(np.maximum(p_above(of, -margin), p_below(of, margin)))
