"""Whether figures that were read can be: what cannot, as a time below zero or a median outside of
its interval, is refused where a file is read, and nothing is computed with it; and plausible times
of calls."""

from __future__ import annotations

import math
from collections.abc import Mapping

from opperf.metrics import metrics_by_name
from opperf.model import Metric, MetricKind, Record, Summary
from opperf.results.units import UNITS

NOT_NEGATIVE = (MetricKind.KERNEL, MetricKind.WALL, MetricKind.MEMORY, MetricKind.COUNT)
"""Kinds of metrics that have no figure below zero."""

ORDERED = (("min", "median"), ("median", "max"), ("ci_low", "median"), ("median", "ci_high"))
"""Pairs of statistics, of which the first is not above the second."""

ROUNDING = 1e-9
"""Share of a figure by which two that are equal may differ, as they were computed differently."""


def refused_summaries(summaries: Mapping[str, Summary]) -> str:
    """Returns the key path of a figure that cannot be, and why; empty without one."""
    known = metrics_by_name()
    for name, summary in summaries.items():
        why = _refused(summary, known.get(name))
        if why:
            return f"summaries.{name}.{why}"
    return ""


def _refused(summary: Summary, metric: Metric | None) -> str:
    if metric is not None and metric.unit in UNITS and summary.unit != metric.unit:
        return f"unit is {summary.unit!r}, and {metric.title} is measured in {metric.unit}"
    if summary.n < 1:
        return f"n is {summary.n}, and a figure has a sample at least"
    if summary.mad < 0:
        return f"mad is {summary.mad:g}, which is below zero"
    if metric is not None and metric.kind in NOT_NEGATIVE:
        for name in ("min", "median", "mean"):
            value = getattr(summary, name)
            if value < 0:
                return f"{name} is {value:g} {summary.unit}, which is below zero"
        if summary.median == 0 and summary.min != 0:
            return f"median is 0, and min is {summary.min:g}: a median of 0 has a sample of 0"
    for low, high in ORDERED:
        why = refused_order(low, getattr(summary, low), high, getattr(summary, high))
        if why:
            return why
    return ""


def refused_order(low: str, below: float, high: str, above: float) -> str:
    """Returns why two statistics cannot be, of which the first is not above the second; empty if
    they can be. NaN is unknown."""
    if below > above and not math.isclose(below, above, rel_tol=ROUNDING):
        return f"{low} is {below:g}, which is above {high}, {above:g}"
    return ""


STALLED = 3.0
"""Ratio of the first time to the second from which the first is a stall: another process on the
same core makes a case take twice as long, and a clock's speed changes by less."""

CALL_NS = 100e3
BYTE_NS = 10.0
"""Expected time of a call and of a byte that it moves, for a case with nothing to compare it with:
ten times as long as a slow call takes, and a hundredth of a memory's speed. Ten times that is
more than most operators need that compute much with few bytes."""


def plausible_ns(record: Record) -> float:
    """Returns the longest plausible time of a call by the bytes that it moves, in nanoseconds."""
    return CALL_NS + BYTE_NS * record.moved_bytes
