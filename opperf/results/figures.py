"""Figures in milliseconds and kilobytes, the units of MXNet's utility.

They are in files for programs and in its formats. Tables for people have the units of
`results.units`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Record


class Unit(NamedTuple):
    """A unit of written figures."""

    name: str
    size: float
    """In the metric's unit."""
    decimals: int | None = None
    """Enough for one nanosecond, or one byte; None for all."""


UNITS = {"ns": Unit("ms", 1e6, 6), "B": Unit("kB", 1e3, 3)}
"""By the metric's unit."""


def unit_of(measured: str) -> Unit:
    """Returns the unit of written figures for a metric's unit: itself if `UNITS` has no other."""
    return UNITS.get(measured) or Unit(measured, 1.0)


NOT_APPLICABLE = "---"
"""A cell without a value, as MXNet's utility writes it."""


def statistic_value(record: Record, metric: str, statistic: str) -> float | None:
    """Returns a statistic of a metric, in ms or kB; None if the record lacks the metric."""
    summary = record.summaries.get(metric)
    if summary is None:
        return None
    unit = unit_of(summary.unit)
    value = float(getattr(summary, statistic)) / unit.size
    return value if unit.decimals is None else round(value, unit.decimals)


def device_label(device: str) -> str:
    """Returns a device as in the keys of results: `cpu/0` for `cpu(0)`."""
    match = re.fullmatch(r"(\w+)\((\d+)\)", device)
    return f"{match[1]}/{match[2]}" if match else device


def sort_by_operator(records: Iterable[Record]) -> list[Record]:
    """Returns the records sorted by operator, those of one operator in their order."""
    return sorted(records, key=lambda record: record.case.label)
