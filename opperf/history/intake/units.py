"""Units of other tools, and opperf's own for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from opperf.model import MetricKind

TIME, MEMORY = "ns", "B"


class Known(NamedTuple):
    """A unit, in one that opperf measures in."""

    unit: str
    size: float
    """Of one of it, in that unit."""


NAMES: Mapping[Known, str] = {
    Known(TIME, 1.0): "ns nsec nanosecond nanoseconds",
    Known(TIME, 1e3): "us µs μs usec microsecond microseconds",
    Known(TIME, 1e6): "ms msec millisecond milliseconds",
    Known(TIME, 1e9): "s sec secs second seconds",
    Known(MEMORY, 1.0): "B byte bytes",
    Known(MEMORY, 1e3): "kB KB",
    Known(MEMORY, 1e6): "MB",
    Known(MEMORY, 1e9): "GB",
    Known(MEMORY, 2.0**10): "KiB",
    Known(MEMORY, 2.0**20): "MiB",
    Known(MEMORY, 2.0**30): "GiB",
}

UNITS = {name: known for known, names in NAMES.items() for name in names.split()}

OF_ONE = re.compile(r"\s*/\s*(iter|op|call|loop)\Z")
"""Ending of a unit of one iteration, which every figure is of."""

RATE = re.compile(
    r"/\s*s(ec)?\Z|per.?sec|\b(ops|fps|qps|throughput|bandwidth|speed-?up)\b", re.IGNORECASE
)
"""In a unit, or in the name of a metric, for which larger is better."""


def known_unit(name: str) -> Known:
    """Returns a unit in opperf's: itself, as it is, if that has none for it."""
    text = name.strip()
    return UNITS.get(OF_ONE.sub("", text), Known(text, 1.0))


def is_rate(text: str) -> bool:
    """Whether more of a unit, or of what a metric's name says, is better."""
    return RATE.search(text.replace("_", " ")) is not None


def kind_of(unit: str) -> MetricKind:
    """Returns the kind of a metric of another tool: of what is no time it is not known that it is
    the same on every run."""
    return MetricKind.WALL if unit == TIME else MetricKind.DERIVED
