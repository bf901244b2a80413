"""Figures in the units that users of operator benchmarks know: milliseconds and kilobytes.

Files for programs and MXNet's own formats have them. Tables for people have the units of
`results.units`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from opperf.metrics import MEMORY
from opperf.model import Record


class Unit(NamedTuple):
    """A unit that figures are written in."""

    name: str
    size: float
    """In the unit that is measured in."""
    decimals: int | None = None
    """Enough to distinguish one nanosecond, or one byte, from the next; None keeps all."""


UNITS = {"ns": Unit("ms", 1e6, 6), "B": Unit("kB", 1e3, 3)}
"""By the unit that is measured in."""


def unit_of(measured: str) -> Unit:
    """The unit that figures of a measured one are written in: itself where no other is usual."""
    return UNITS.get(measured) or Unit(measured, 1.0)


NOT_APPLICABLE = "---"
"""A cell that has no value, as users of operator benchmarks know it."""


def statistic_value(record: Record, metric: str, statistic: str) -> float | None:
    """One statistic of a metric, in ms or kB, or None where the record has no such metric."""
    summary = record.summaries.get(metric)
    if summary is None:
        return None
    unit = unit_of(summary.unit)
    value = float(getattr(summary, statistic)) / unit.size
    return value if unit.decimals is None else round(value, unit.decimals)


def time_cell(record: Record, metric: str, statistic: str) -> str:
    """A time as a cell of a table, to the nanosecond in every row: a column whose points are
    below each other can be compared at a glance."""
    value = statistic_value(record, metric, statistic)
    return NOT_APPLICABLE if value is None else f"{value:.6f}"


def memory_cell(record: Record) -> str:
    """The peak of memory as a cell of a table, to the byte."""
    value = statistic_value(record, MEMORY.name, "median")
    return NOT_APPLICABLE if value is None else f"{value:.3f}"


def device_label(device: str) -> str:
    """`cpu(0)` as it is in the keys of results: `cpu/0`."""
    match = re.fullmatch(r"(\w+)\((\d+)\)", device)
    return f"{match[1]}/{match[2]}" if match else device


def sort_by_operator(records: Iterable[Record]) -> list[Record]:
    """The records sorted by operator, those of one operator in their own order."""
    return sorted(records, key=lambda record: record.case.label)
