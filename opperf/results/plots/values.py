"""The metrics that a plot draws, and their values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opperf.errors import UsageError, unknown
from opperf.metrics import metrics_by_name, metrics_in
from opperf.model import Metric, Record
from opperf.results.bandwidth import BANDWIDTH, bandwidth_of

CUT_AT = 2.0
"""Times the median at which intervals are cut: longer ones would leave no room for the medians."""

Value = tuple[float, float | None, float | None]
"""A median and the bounds of its interval."""


def metrics_to_draw(
    names: Sequence[str], records: Sequence[Record], usual: Sequence[str]
) -> list[Metric]:
    """Returns the metrics of these names; without names the `usual` ones that the records have.
    Raises `UsageError` for one that is unknown or that no record has."""
    present = {metric.name: metric for metric in metrics_in(records)}
    if any(bandwidth_of(record) for record in records):
        present[BANDWIDTH.name] = BANDWIDTH
    for name in names:
        if name in present:
            continue
        if name in metrics_by_name() or name == BANDWIDTH.name:
            raise UsageError(f"--metric {name}: no record has it; available: {', '.join(present)}")
        raise unknown("metric", name, present, "the file")
    wanted = names or [name for name in usual if name in present]
    return [present[name] for name in wanted or list(present)[:1]]


def value_of(metric: Metric, record: Record) -> Value | None:
    """Returns a record's median of a metric with its interval; None without a finite one."""
    if metric is BANDWIDTH:
        rate = bandwidth_of(record)
        return None if rate is None else (rate.value, rate.low, rate.high)
    summary = record.summaries.get(metric.name)
    if summary is None or not math.isfinite(summary.median):
        return None
    if summary.half_width is None or metric.is_steady:
        return summary.median, None, None
    return summary.median, summary.ci_low, summary.ci_high
