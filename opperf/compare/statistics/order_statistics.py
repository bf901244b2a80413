"""Two runs that were taken apart, from their raw samples: a hint, never a verdict.

Assumption: within each run the samples of a case are independent draws of one distribution, of
any shape. The interval of the ratio of medians is made from order statistics.
Source: R. M. Price and D. G. Bonett, Distribution-free confidence intervals for difference and
ratio of medians, J. Statistical Computation and Simulation 72 (2002).
Breaks always, in what it leaves out: a run is a single process on a machine at a single hour, and
how far another would be from it is not in its samples. Identical builds measured apart differ
by more than the samples' scatter in a large share of cases, and more samples make that share
larger. So a difference is `suspect` at most, nothing is corrected for the number of cases, no
p-value is given, and interleaved runs decide.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from opperf.compare.statistics.blocks import Floats
from opperf.compare.statistics.data import CaseVerdict, Verdict

FEWEST = 6
"""Samples of either run: the extremes of fewer are no 95 % interval of a median."""

CONFIDENCE = 0.95
"""Level of the ratio's interval: the field's convention."""


def compare_samples(
    case: str, a: Sequence[float], b: Sequence[float], margin: float
) -> CaseVerdict:
    """Suspect if the interval of the ratio of the medians, B over A, lies beyond the margin (in
    log units) on either side, else unsuspicious. The samples are positive, in one unit; where
    they are too few, or some are not positive, the case is ambiguous."""
    if min(len(a), len(b)) < FEWEST:
        note = f"{len(a)} and {len(b)} samples, and {FEWEST} of each are the fewest"
        return CaseVerdict(case, Verdict.AMBIGUOUS, note=note)
    if min(*a, *b) <= 0:
        return CaseVerdict(case, Verdict.AMBIGUOUS, note="a sample is not above zero")
    log_a, log_b = np.sort(np.log(a)), np.sort(np.log(b))
    effect = float(np.median(log_b) - np.median(log_a))
    reach = _errors((1 - CONFIDENCE) / 2) * math.hypot(_error(log_a), _error(log_b))
    low, high = effect - reach, effect + reach
    if low > margin or high < -margin:
        note = "taken apart: only interleaved runs can tell"
        return CaseVerdict(case, Verdict.SUSPECT, effect, low, high, note=note)
    return CaseVerdict(case, Verdict.UNSUSPICIOUS, effect, low, high)


def _error(ordered: Floats) -> float:
    """Standard error of the median of sorted values: half the distance between two order
    statistics, over how many standard errors that is."""
    rank, errors = _interval(len(ordered))
    return float(ordered[-rank] - ordered[rank - 1]) / (2 * errors)


# SciPy's distributions take a tenth of a millisecond to answer for a single number, and cases
# come by the thousand with the same number of samples.
@functools.cache
def _interval(n: int) -> tuple[int, float]:
    """The rank, from either end, of the order statistics that stand for the interval of the
    median of n values, `FEWEST` or more, and its half width in standard errors."""
    from scipy.stats import binom

    rank = round((n + 1) / 2 - math.sqrt(n))
    return rank, _errors(float(binom.cdf(rank - 1, n, 0.5)))


@functools.cache
def _errors(tail: float) -> float:
    """How many standard errors leave that probability in either tail of a normal distribution."""
    from scipy.stats import norm

    return float(norm.isf(tail))
