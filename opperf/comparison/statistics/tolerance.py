"""Comparison of figures that are the same on every run, such as bytes and counts.

Assumption: the same build gives the same figure again, within the tolerance. One figure of each
side is then enough, no test is needed, and two separate runs give a verdict.
Source: none; a figure without noise is compared, not tested.
Breaks when the figure does have noise (memory of a framework that keeps workspace between
operators, counts in a program with threads): it may then exceed the tolerance by chance.
"""

from __future__ import annotations

import math

from opperf.comparison.statistics.data import CaseVerdict, Verdict
from opperf.model import Metric


def compare_figures(case: str, a: float, b: float, metric: Metric) -> CaseVerdict:
    """The verdict on two figures: regressed if B's is worse than A's by more than the metric's
    tolerance, improved if it is better by more, else the same. The effect is None where a figure is
    zero. Raises `ValueError` for figures that are negative or not finite."""
    if not (math.isfinite(a) and math.isfinite(b)) or min(a, b) < 0:
        raise ValueError(f"{case}: {a} and {b} {metric.unit} cannot be compared")
    verdict = Verdict.SAME
    if abs(b - a) > allowed_difference(metric, a):
        verdict = Verdict.REGRESSED if (b > a) is metric.lower_is_better else Verdict.IMPROVED
    effect = math.log(b / a) if a and b else None
    return CaseVerdict(case, verdict, effect, effect, effect)


def allowed_difference(metric: Metric, a: float) -> float:
    """The largest difference from A's figure that counts as none."""
    return max(metric.absolute_tolerance, metric.relative_tolerance * a)
