"""How long a process measures a case, so that a session reaches a standard error soonest.

A visit of a case costs a fixed time, of the process and of the case's inputs, and the time of its
samples. Its value varies between processes, whatever the number of samples, and within a process,
less the longer it samples. More visits lower both parts, longer ones the second only.
Source: W. G. Cochran, Sampling Techniques (3rd ed., 1977), section 10.6: in two stages the best
number of elements in a unit is the root of the ratio of costs times that of variances.
Breaks when samples are not independent, as on a core whose speed changes within a visit: what they
have in common then counts as variance between processes, and a visit is shorter than is best. That
costs time and no verdict: the scatter of the blocks has all parts.
"""

from __future__ import annotations

import math

LEAST_SHARE = 0.1
"""Least share of a visit's variance that counts as being between processes: estimated from few
blocks it may be nothing by chance."""


def best_seconds(cost_s: float, sample_variance: float, visit_variance: float) -> float:
    """Returns the best time of a visit's samples.

    `cost_s` is the fixed time of a visit in seconds; `sample_variance` the variance within a
    process times the seconds sampled; `visit_variance` that of a visit at its present length less
    what is within; both in squared log units. Infinite where a visit varies by nothing else."""
    if visit_variance <= 0.0:
        return math.inf if sample_variance > 0.0 else 0.0
    return math.sqrt(cost_s * sample_variance / visit_variance)
