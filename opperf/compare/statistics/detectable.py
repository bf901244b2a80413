"""The smallest change that a case's blocks could have found.

Assumption: the case's scatter is the observed one. A change of that size, beyond the threshold, is
then found four times out of five.
Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (2nd ed., 1988), on that
power as the field's convention.
Breaks with few blocks, whose scatter is itself known to a factor of two only.
"""

from __future__ import annotations

from opperf.compare.statistics.blocks import Floats

POWER = 0.8


def smallest_detectable(error: Floats, freedom: Floats, margin: float, level: float) -> Floats:
    """Log ratios beyond the margin that a one-sided test at that level finds with probability
    `POWER`; NaN where there is no standard error."""
    from scipy.stats import t

    reach: Floats = margin + (t.isf(level, freedom) + t.ppf(POWER, freedom)) * error
    return reach
