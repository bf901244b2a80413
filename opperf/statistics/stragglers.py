"""Which of several machines of one kind differs from the others.

Assumption: the scores of machines that are alike, each the median over cases of the log ratio to
the other machines, are independent draws of one normal distribution. The machine is the unit: its
cases share what its process and its day were like, so that many cases of one are no many tests.
Scale by the median absolute deviation, which up to half of the machines may differ without moving
much; its bias for few values is removed by the approximation of C. Park, H. Kim and M. Wang,
Investigation of finite-sample properties of robust location and scale estimators (2020), which is
within 3 % from four values on (`benchmarks/cluster/stragglers.py`).
Breaks with fewer than `FEWEST` machines, of two of which neither is the other one, and where half
of them or more differ: then the others do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from opperf.statistics.blocks import Floats
from opperf.statistics.distributions import t_above, t_exceeded
from opperf.statistics.false_discovery import reject

FEWEST = 4
"""Fewest machines: of three, the deviation of the median one is that of a single pair."""

RATE = 0.05
"""False discovery rate: the field's convention."""

CONFIDENCE = 0.95

EFFICIENCY = 0.37
"""Share of the degrees of freedom that the median absolute deviation uses: its asymptotic
efficiency for normal values."""


class Found(NamedTuple):
    """A machine beside the others; ratios are of its figures to the median of theirs."""

    name: str
    ratio: float
    low: float
    high: float
    """Interval of the ratio, by the scatter among machines."""
    differs: bool
    cases: int
    worst: str
    """Case with the largest ratio, either way, and that ratio."""
    worst_ratio: float


def find_stragglers(
    figures: Mapping[str, Mapping[str, float]], errors: Mapping[str, float], margin: float
) -> tuple[Found, ...]:
    """Returns every machine, the slowest first. `figures` are positive numbers by machine and case,
    the larger the slower, and `errors` the standard error of each machine's score by its own
    samples. A machine differs if its ratio is beyond the margin, in log units."""
    names = list(figures)
    cases = sorted({case for own in figures.values() for case in own})
    logs = np.log([[own.get(case, np.nan) for case in cases] for own in figures.values()])
    apart = _from_others(logs)
    scores = np.nanmedian(apart, axis=1)
    scale, freedom = _scale(scores, float(np.median([errors[name] for name in names])))
    beyond = np.maximum(np.abs(scores) - margin, 0.0) / scale
    p = np.minimum(1.0, 2 * t_above(beyond, np.full(len(names), freedom)))
    differing = reject(p, RATE)
    half_width = scale * float(t_exceeded((1 - CONFIDENCE) / 2, np.asarray(freedom)))
    worst = np.nanargmax(np.abs(apart), axis=1)
    found = [
        Found(
            name,
            float(np.exp(score)),
            float(np.exp(score - half_width)),
            float(np.exp(score + half_width)),
            bool(differing[row]),
            int(np.count_nonzero(~np.isnan(apart[row]))),
            cases[worst[row]],
            float(np.exp(apart[row, worst[row]])),
        )
        for row, (name, score) in enumerate(zip(names, scores, strict=True))
    ]
    return tuple(sorted(found, key=lambda one: -one.ratio))


def _from_others(logs: Floats) -> Floats:
    """The logs less the median of the other machines', NaN where no other one has the case."""
    apart = np.full_like(logs, np.nan)
    for row in range(len(logs)):
        others = np.delete(logs, row, axis=0)
        known = ~np.isnan(others).all(axis=0) & ~np.isnan(logs[row])
        apart[row, known] = logs[row, known] - np.nanmedian(others[:, known], axis=0)
    return apart


def _scale(scores: Floats, error: float) -> tuple[float, float]:
    """The standard deviation of a score of a machine that is like the others, at least that of its
    samples, and its degrees of freedom."""
    n = len(scores)
    deviation = float(np.median(np.abs(scores - np.median(scores))))
    return max(deviation * mad_factor(n), error, 1e-12), EFFICIENCY * (n - 1)


def mad_factor(n: int) -> float:
    """Returns the factor from the median absolute deviation of n normal values to their standard
    deviation, without bias."""
    return 1.4826 / (1 - 0.76213 / n - 0.86413 / n**2)
