"""Metrics as readers are shown them: milliseconds, kilobytes, and how many digits."""

from __future__ import annotations

import re
from collections.abc import Iterable

from opperf.model import Record

TIMES = ("forward", "backward", "total")
"""Metrics that are times, in the order they are shown."""

MEMORIES = ("memory", "memory_forward")
"""Metrics that are peaks of memory: of everything the case ran, and of its forward pass."""

STATISTICS = ("median", "mean", "min", "p50", "p90", "p99")
"""Statistics of a time that tables have a column for."""

UNITS = {"ns": ("ms", 1e6, 6), "B": ("kB", 1e3, 3)}
"""Unit of a summary, to the unit shown, how many of the first make one of the second, and
the decimals kept: as many as tell one nanosecond, or one byte, from the next."""

NOT_APPLICABLE = "---"
"""A cell that has no value, as users of operator benchmarks know it."""

PYTHON = "python"
"""The profiler whose results have percentiles."""


def shown(record: Record, metric: str, statistic: str) -> float | None:
    """One statistic of a metric, in ms or kB, or None where the record has no such metric."""
    summary = record.summaries.get(metric)
    if summary is None:
        return None
    _, divisor, decimals = UNITS[summary.unit]
    return round(float(getattr(summary, statistic)) / divisor, decimals)


def shown_ms(record: Record, metric: str, statistic: str) -> str:
    """A time as a cell of a table, to the nanosecond in every row: a column whose points are
    below each other can be compared at a glance."""
    value = shown(record, metric, statistic)
    return NOT_APPLICABLE if value is None else f"{value:.6f}"


def shown_kb(record: Record) -> str:
    """The peak of memory as a cell of a table, to the byte."""
    value = shown(record, "memory", "median")
    return NOT_APPLICABLE if value is None else f"{value:.3f}"


def device_label(device: str) -> str:
    """`cpu(0)` as it is in the keys of results: `cpu/0`."""
    match = re.fullmatch(r"(\w+)\((\d+)\)", device)
    return f"{match[1]}/{match[2]}" if match else device


def by_operator(records: Iterable[Record]) -> list[Record]:
    """The records sorted by operator, those of one operator in their own order."""
    return sorted(records, key=lambda record: record.case.label)
