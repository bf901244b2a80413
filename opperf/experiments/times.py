"""The time of a record, as PyTorch/XLA's benchmarks define it, with its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opperf.experiments.records import ModelRecord, is_number, times_of

UNKNOWN = math.nan
"""Variance of a mean of one sample."""


class Estimate(NamedTuple):
    """A value with its errors."""

    value: float
    deviation: float = 0.0
    """The standard deviation of single values, 0 for one."""
    variance: float = UNKNOWN
    """Of the logarithm of the value as a mean: the square of its relative standard error."""
    weight: float = 0.0
    """Sum of the squares of the variances over their degrees of freedom: `variance` squared over it
    is the degrees of freedom of the whole, after Welch and Satterthwaite."""


def estimate(values: Sequence[float]) -> Estimate | None:
    """Returns the mean of some values; None without any, and for one that is no time."""
    n = len(values)
    if not n:
        return None
    mean = sum(values) / n
    if mean <= 0:
        return None
    if n == 1:
        return Estimate(mean)
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    relative = variance / n / mean**2
    return Estimate(mean, math.sqrt(variance), relative, relative**2 / (n - 1))


def steady_time(record: ModelRecord) -> Estimate | None:
    """Returns the time of a repeat in seconds, once nothing compiles; None without enough."""
    if record.error is not None:
        return None
    times = times_of(record)
    if not times:
        # A table of another runner has the mean alone.
        return _single(record.metrics.get("mean_total_time"))
    return estimate(times[record.warmup_repeats :])


def compile_time(record: ModelRecord) -> Estimate | None:
    """Returns what the first repeat takes longer than the others on average, in seconds."""
    if record.error is not None:
        return None
    times = times_of(record)
    if not record.warmup_repeats:
        # Its first call is unknown.
        return None
    if len(times) < 2:
        return _single(record.metrics.get("compilation_latency"))
    later = times[1:]
    return estimate([times[0] - math.fsum(later) / len(later)])


def _single(value: Any) -> Estimate | None:
    return Estimate(float(value)) if is_number(value) and value > 0 else None


METRICS: dict[str, Callable[[ModelRecord], Estimate | None]] = {
    "exec": steady_time,
    "compile": compile_time,
}
"""The times that are compared, by the name of the option."""
