"""The time of a record, as PyTorch/XLA's benchmarks define it, with its errors, and its backend:
what compiled the model, if anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opperf.experiments.records import ModelRecord, is_number, times_of

TITLES = {
    "eager": "Eager",
    "inductor": "Inductor",
    "openxla+dynamo": "XLA+Dynamo",
    "openxla+lazytensor": "XLA+LazyTensor",
}
"""Those of PyTorch/XLA's benchmarks, by name; others have their own name for title."""

DEFAULT = ("inductor", "openxla+dynamo")

OF_XLA = {"openxla": "openxla+dynamo", None: "openxla+lazytensor"}
"""By what traces the program for XLA: dynamo's backend, or lazy tensors."""


def backend_of(record: ModelRecord) -> str | None:
    """Returns the backend's name; None for XLA's former runtime and for torch_xla2, which have
    none."""
    if record.torch_xla2 is not None:
        return None
    if record.xla is None:
        return "eager" if record.dynamo is None else record.dynamo
    if record.xla != "PJRT" or record.dynamo not in OF_XLA:
        return None
    return OF_XLA[record.dynamo]


def title_of(backend: str) -> str:
    """Returns the backend's name in headings."""
    return TITLES.get(backend, backend)


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
