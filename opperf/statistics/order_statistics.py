"""Comparison of two separate runs by their raw samples: a hint, never a verdict.

Assumption: within each run the samples of a case are independent draws of one distribution, of
any shape. The interval of the ratio of medians is computed from order statistics.
Source: R. M. Price and D. G. Bonett, Distribution-free confidence intervals for difference and
ratio of medians, J. Statistical Computation and Simulation 72 (2002).
Breaks always: a run is a single process at a single time, and its samples do not contain the
variation between runs. Identical builds in separate runs differ by more than the samples' scatter
in a large share of cases, and more samples make that share larger. So a difference is at most
`suspect`, there is no p-value and no correction for the number of cases, and interleaved runs
decide.

Comparison of figures that are the same on every run, such as bytes and counts.

Assumption: the same build gives the same figure again, within the tolerance. One figure of each
side is then enough, no test is needed, and two separate runs give a verdict.
Source: none; a figure without noise is compared, not tested.
Breaks when the figure does have noise (memory of a framework that keeps workspace between
operators, counts in a program with threads): it may then exceed the tolerance by chance.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from opperf.model import Metric
from opperf.plurals import pluralize
from opperf.statistics.blocks import Floats
from opperf.statistics.data import CaseVerdict, Verdict
from opperf.statistics.distributions import binomial_at_most, normal_exceeded

MIN_SAMPLES = 6
"""Fewest samples of either run: the extremes of fewer are no 95 % interval of a median."""

CONFIDENCE = 0.95
"""Level of the ratio's interval: the field's convention."""


def compare_samples(
    case: str, a: Sequence[float], b: Sequence[float], margin: float
) -> CaseVerdict:
    """The verdict on two samples in one unit: suspect if the interval of the ratio of the medians,
    B over A, lies beyond the margin (in log units) on either side, else no clear change; ambiguous
    where there are too few samples, or where some are not positive."""
    if min(len(a), len(b)) < MIN_SAMPLES:
        note = f"{len(a)} and {pluralize(len(b), 'sample')}; each needs at least {MIN_SAMPLES}"
        return CaseVerdict(case, Verdict.AMBIGUOUS, note=note)
    if min(*a, *b) <= 0:
        return CaseVerdict(case, Verdict.AMBIGUOUS, note="a sample is not positive")
    log_a, log_b = np.sort(np.log(a)), np.sort(np.log(b))
    effect = float(np.median(log_b) - np.median(log_a))
    error = math.hypot(_standard_error(log_a), _standard_error(log_b))
    half_width = normal_exceeded((1 - CONFIDENCE) / 2) * error
    low, high = effect - half_width, effect + half_width
    if low > margin or high < -margin:
        note = "measured separately: only interleaved runs can confirm it"
        return CaseVerdict(case, Verdict.SUSPECT, effect, low, high, note=note)
    return CaseVerdict(case, Verdict.NO_CLEAR_CHANGE, effect, low, high)


def _standard_error(ordered: Floats) -> float:
    """Standard error of the median of sorted values: half the distance between two order
    statistics, divided by the number of standard errors that it is."""
    rank, errors = _interval_rank(len(ordered))
    return float(ordered[-rank] - ordered[rank - 1]) / (2 * errors)


# Cases come by the thousand with the same number of samples.
@functools.cache
def _interval_rank(n: int) -> tuple[int, float]:
    """The rank, from either end, of the order statistics that stand for the interval of the
    median of n values, `MIN_SAMPLES` or more, and its half width in standard errors."""
    rank = round((n + 1) / 2 - math.sqrt(n))
    return rank, normal_exceeded(binomial_at_most(rank - 1, n, 0.5))


def compare_figures(case: str, a: float, b: float, metric: Metric) -> CaseVerdict:
    """The verdict on two figures: regressed if B's is worse than A's by more than the metric's
    tolerance, improved if it is better by more, else the same. The effect is None where a figure is
    zero. No figure is negative, and all are finite."""
    verdict = Verdict.SAME
    if abs(b - a) > allowed_difference(metric, a):
        verdict = Verdict.REGRESSED if (b > a) is metric.lower_is_better else Verdict.IMPROVED
    effect = math.log(b / a) if a and b else None
    return CaseVerdict(case, verdict, effect, effect, effect)


def allowed_difference(metric: Metric, a: float) -> float:
    """The largest difference from A's figure that counts as none."""
    return max(metric.absolute_tolerance, metric.relative_tolerance * a)
