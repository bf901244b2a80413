"""Changes of metrics that are the same on every run: memory, instructions.

Assumption: two values of unchanged code differ by no more than the metric's tolerance, so that one
point is enough and there is no rate of false alarms.
Source: the tolerances that each metric declares.
Breaks with counts that depend on addresses or timing, whose tolerance is then too small.

A value is compared with the level, which is the first value after the last change, and not with the
value before it: a creep of a hundred small steps is found when they add up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opperf.history.detection.series import Floats, Ints
from opperf.model import Metric


class Step(NamedTuple):
    """A change of an exact metric."""

    at: int
    """Index of the first point of the new level."""
    before: float
    after: float


def one_per_commit(positions: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Returns the positions without repetition, and the median of each one's values."""
    if np.all(positions[1:] > positions[:-1]):
        return positions, values
    first = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1]]))
    medians = [np.median(part) for part in np.split(values, first[1:])]
    return positions[first], np.array(medians)


def exact_steps(values: Floats, metric: Metric) -> list[Step]:
    """Returns the changes beyond the metric's tolerances."""
    steps: list[Step] = []
    at = 0
    while at < values.size:
        level = float(values[at])
        allowed = max(metric.relative_tolerance * abs(level), metric.absolute_tolerance)
        beyond = np.abs(values[at:] - level) > allowed
        if not beyond.any():
            break
        at += int(np.argmax(beyond))
        steps.append(Step(at, level, float(values[at])))
    return steps
