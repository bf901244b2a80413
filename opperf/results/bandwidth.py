"""The rate at which a forward pass moves its inputs and outputs."""

from __future__ import annotations

from typing import NamedTuple

from opperf.instruments.times import FORWARD
from opperf.model import Metric, MetricKind, Record

BANDWIDTH = Metric(
    "bandwidth",
    "GB/s",
    MetricKind.DERIVED,
    title="Bandwidth",
    description="bytes of the inputs and of the outputs over the time of the forward pass",
    lower_is_better=False,
    usual=False,
)
"""Bytes per nanosecond, which are gigabytes per second."""


class Rate(NamedTuple):
    """A rate, with the bounds of its 95 % confidence interval where the time has them."""

    value: float
    low: float | None = None
    high: float | None = None


def bandwidth_of(record: Record) -> Rate | None:
    """Returns the rate of a record; None where its bytes or its time are not known."""
    time = record.summaries.get(FORWARD.name)
    if time is None or not record.moved_bytes or not time.median > 0:
        return None
    low, high = (
        record.moved_bytes / bound if time.half_width is not None and bound > 0 else None
        for bound in (time.ci_high, time.ci_low)
    )
    return Rate(record.moved_bytes / time.median, low, high)
