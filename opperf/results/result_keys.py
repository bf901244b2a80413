"""The keys of figures in results by operator, `{operator: [result, ...]}`.

Results of MXNet have the keys of its own utility, which end in the operator's name, or the
device's for memory. Those of every other framework have the names of CSV's columns.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

from opperf.instruments.memory import MEMORY
from opperf.instruments.times import BACKWARD, FORWARD, TOTAL
from opperf.metrics import metrics_by_name, metrics_in
from opperf.model import Metric, MetricKind, Record
from opperf.results.figures import device_label, statistic_value, unit_of

WITH_OWN_KEYS = "mxnet"
"""The framework that has keys of its own."""

MEMORY_KEY = "max_storage_mem_alloc_"

MEDIAN = "p50"

PERCENTILES = (MEDIAN, "p90", "p99")

OWN_FIGURES = {
    "avg_time_*": "mean of the samples, in ms",
    "p50_time_*": "median of the samples, in ms, as tables show it",
    "p90_time_*": "90th percentile of the samples, in ms",
    "p99_time_*": "99th percentile of the samples, in ms",
    "*_time_forward_*": "time of the forward pass",
    "*_time_backward_*": "time of the backward pass",
    f"{MEMORY_KEY}*": "peak of memory above the level before the call, in kB",
}
"""Meanings of the keys of MXNet's results."""

OWN_TITLES = {"device": "ctx"}
"""Names of settings on a page of MXNet's results, where they are not the usual ones."""

STATISTICS = {
    "mean": "mean of the samples",
    "median": "median of the samples, as tables show it",
    "p90": "90th percentile of the samples",
    "p99": "99th percentile of the samples",
}
"""Statistics that results of other frameworks have of a noisy metric, and what they are."""


class Source(NamedTuple):
    """The metric and the statistic that a figure is of."""

    metric: Metric
    statistic: str


def has_own_keys(record: Record) -> bool:
    """Whether a record is of MXNet."""
    return record.case.target.framework == WITH_OWN_KEYS


def figure_name(metric: Metric, statistic: str) -> str:
    """Returns a figure's name in files for programs: `forward_median_ms`, or `memory_kB` for a
    metric that is the same on every run."""
    unit = unit_of(metric.unit).name
    return f"{metric.name}_{unit}" if metric.is_steady else f"{metric.name}_{statistic}_{unit}"


def figures_of(record: Record) -> dict[str, float]:
    """Returns the figures of a result, times in ms and memory in kB. Metrics that the record lacks
    have no key."""
    own = has_own_keys(record)
    sources = _own_sources(record) if own else _sources(metrics_in([record]))
    values = {
        key: statistic_value(record, metric.name, statistic)
        for key, (metric, statistic) in sources.items()
    }
    return {key: value for key, value in values.items() if value is not None}


def _sources(metrics: Iterable[Metric]) -> dict[str, Source]:
    """Returns what the figures of metrics are of, by key."""
    return {
        figure_name(metric, statistic): Source(metric, statistic)
        for metric in metrics
        for statistic in (("median",) if metric.is_steady else STATISTICS)
    }


@functools.cache
def _known_sources() -> dict[str, Source]:
    """Returns what the figures of all registered metrics are of, by key."""
    return _sources(metrics_by_name().values())


def _own_sources(record: Record) -> dict[str, Source]:
    """Returns what the figures of a record of MXNet are of, by key: percentiles, and both passes
    together, where the time is the wall clock's."""
    name, is_wall = record.case.label, record.time_kind is MetricKind.WALL
    times = TIMES.values()
    sources = {f"{MEMORY_KEY}{device_label(record.case.settings.device)}": Source(MEMORY, "median")}
    sources |= {f"avg_time_{metric.name}_{name}": Source(metric, "mean") for metric in times}
    if is_wall:
        sources[f"avg_time_{name}"] = Source(TOTAL, "mean")
        sources |= {f"{rank}_time_{name}": Source(TOTAL, rank) for rank in PERCENTILES}
    return sources | {
        f"{rank}_time_{metric.name}_{name}": Source(metric, rank)
        for metric in times
        for rank in (PERCENTILES if is_wall else (MEDIAN,))
    }


TIMES = {metric.name: metric for metric in (FORWARD, BACKWARD)}
"""The metrics of the passes' times, by name."""

OWN_TIME = re.compile(rf"(avg|{'|'.join(PERCENTILES)})_time_((?:({'|'.join(TIMES)})_)?.*)")

OWN_STATISTICS = {"avg": "mean", MEDIAN: "median"}


def source_of(key: str, operator: str) -> Source | None:
    """Returns what the figure of a key in an operator's results is of; None if it is no
    figure's. Of a metric that is the same on every run, the statistic is the median."""
    if key.startswith(MEMORY_KEY):
        return Source(MEMORY, "median")
    own = OWN_TIME.fullmatch(key)
    if own is None:
        return _known_sources().get(key)
    statistic, rest, direction = own.groups()
    metric = TIMES[direction] if direction and rest != operator else TOTAL
    return Source(metric, OWN_STATISTICS.get(statistic, statistic))


def meanings(records: Iterable[Record]) -> dict[str, str]:
    """Returns what the keys of the records' results mean, for the file beside them."""
    by_kind: dict[bool, list[Record]] = {True: [], False: []}
    for record in records:
        by_kind[has_own_keys(record)].append(record)
    own, others = by_kind[True], by_kind[False]
    return (OWN_FIGURES if own else {}) | {
        key: _meaning(*source) for key, source in _sources(metrics_in(others)).items()
    }


def _meaning(metric: Metric, statistic: str) -> str:
    """Returns what a figure is, with its unit."""
    text = f"{metric.description or metric.name}, in {unit_of(metric.unit).name}"
    return text if metric.is_steady else f"{STATISTICS[statistic]}: {text}"
