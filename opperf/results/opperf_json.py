"""Results by operator, the format of MXNet's utility: `{operator: [result, ...]}`.

Results of MXNet have the keys of its own utility, which end in the operator's name, or the
device's for memory. Those of every other framework have the names of CSV's columns.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.instruments.memory import MEMORY
from opperf.instruments.times import BACKWARD, FORWARD, TOTAL
from opperf.metrics import metrics_by_name, metrics_in
from opperf.model import Metric, MetricKind, Record, Run, Status, display_arguments, identity_of
from opperf.results.details import display_details
from opperf.results.figures import CaseFigures
from opperf.results.rates import WRITTEN, written_rates
from opperf.results.settings import differing_settings
from opperf.results.units import device_label, sort_by_operator, unit_of

WITH_OWN_KEYS = "mxnet"
"""The framework that has keys of its own."""

MEMORY_KEY = "max_storage_mem_alloc_"

PARTS = "parts"
PARTS_MEANING = (
    "the operators of a replay, with the nanoseconds of their calls in an iteration, and of those "
    "in the trace (recorded_ns)"
)

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
    """Returns a figure's name in files: `forward_median_ms`, or `memory_kB` if it is steady."""
    unit = unit_of(metric.unit).name
    return f"{metric.name}_{unit}" if metric.is_steady else f"{metric.name}_{statistic}_{unit}"


def figures_of(record: Record) -> dict[str, float]:
    """Returns the figures of a result, in ms and kB, without those that the record lacks."""
    own = has_own_keys(record)
    sources = _own_sources(record) if own else _sources(metrics_in([record]))
    found = CaseFigures(record)
    values = {
        key: found.statistic(metric.name, statistic, is_rounded=True)
        for key, (metric, statistic) in sources.items()
    }
    return {key: value for key, value in values.items() if value is not None}


def _sources(metrics: Iterable[Metric]) -> dict[str, Source]:
    return {
        figure_name(metric, statistic): Source(metric, statistic)
        for metric in metrics
        for statistic in (("median",) if metric.is_steady else STATISTICS)
    }


@functools.cache
def _known_sources() -> dict[str, Source]:
    return _sources(metrics_by_name().values())


def _own_sources(record: Record) -> dict[str, Source]:
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
    """Returns the metric and statistic of a key in an operator's results; None without any."""
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
    listed = list(records)
    others = [record for record in listed if not has_own_keys(record)]
    return (
        (OWN_FIGURES if len(others) < len(listed) else {})
        | {key: _meaning(*source) for key, source in _sources(metrics_in(others)).items()}
        | _meanings_of_rates(others)
        | ({PARTS: PARTS_MEANING} if any(record.parts for record in listed) else {})
        | (
            {VERIFICATION: VERIFICATION_MEANING}
            if any(record.verification for record in listed)
            else {}
        )
    )


def _meanings_of_rates(records: Iterable[Record]) -> dict[str, str]:
    known = {name for record in records for name in written_rates(record)}
    return {name: WRITTEN[name].metric.description for name in WRITTEN if name in known}


def _meaning(metric: Metric, statistic: str) -> str:
    text = f"{metric.description or metric.name}, in {unit_of(metric.unit).name}"
    return text if metric.is_steady else f"{STATISTICS[statistic]}: {text}"


VERIFICATION = "verification"
"""Key of the verification of a result."""

VERIFICATION_MEANING = (
    "whether the results are those of eager mode: a code, the method, relative errors, and of a "
    "wrong result (FAIL) which array failed first"
)


def result_of(record: Record, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the result of a record: inputs and figures. `details` are those of tensors, by name,
    that differ from others in more than shape; `sweep` has the values of swept variables,
    `source_id` is the case's id in its file. `inputs` replace the record's own, for a caller who
    wrote them in another form."""
    case = record.case
    result: dict[str, Any] = {"inputs": display_arguments(case) if inputs is None else dict(inputs)}
    details = display_details(case) if inputs is None else {}
    if details:
        result["details"] = details
    if case.point and inputs is None:
        result["sweep"] = dict(case.point)
    if case.source_id:
        result["source_id"] = case.source_id
    result |= figures_of(record)
    if not has_own_keys(record):
        result |= written_rates(record)
    if record.parts:
        result[PARTS] = msgspec.to_builtins(record.parts)
    if record.verification is not None:
        result[VERIFICATION] = msgspec.to_builtins(record.verification)
    return result


def results_by_operator(records: Iterable[Record]) -> dict[str, list[dict[str, Any]]]:
    """Returns the results of measured records, with the settings in which some differ."""
    listed = sort_by_operator(records)
    names = differing_settings(record.case for record in listed)
    results: dict[str, list[dict[str, Any]]] = {}
    for record in listed:
        if record.status is Status.OK:
            result = result_of(record)
            if names:
                settings = identity_of(record.case.settings)
                result["settings"] = {name: settings[name] for name in names}
            results.setdefault(record.case.label, []).append(result)
    return results


def ids_by_operator(records: Iterable[Record]) -> dict[str, list[str]]:
    """Returns the ids of `results_by_operator`, in its order."""
    ids: dict[str, list[str]] = {}
    for record in sort_by_operator(records):
        if record.status is Status.OK:
            ids.setdefault(record.case.label, []).append(record.id)
    return ids


def json_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the results as JSON with a line for each result, for readers and diffs."""
    operators = [
        f"    {_encode(name)}: [\n"
        + ",\n".join(f"        {_encode(result)}" for result in results)
        + "\n    ]"
        for name, results in results_by_operator(run.records).items()
    ]
    return "{\n" + ",\n".join(operators) + "\n}\n" if operators else "{}\n"


def _encode(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
