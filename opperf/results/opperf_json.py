"""Results in the format of MXNet's utility: `{operator: [result, ...]}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from opperf.metrics import MEMORY, PASSES, TOTAL
from opperf.model import MetricKind, Record, Run, Status, display_arguments
from opperf.results.details import display_details
from opperf.results.figures import device_label, sort_by_operator, statistic_value
from opperf.results.settings import differing_settings

MEDIAN = "p50"

PERCENTILES = (MEDIAN, "p90", "p99")

FIGURES = {
    "avg_time_*": "mean of the samples, in ms",
    "p50_time_*": "median of the samples, in ms, as tables show it",
    "p90_time_*": "90th percentile of the samples, in ms",
    "p99_time_*": "99th percentile of the samples, in ms",
    "*_time_forward_*": "time of the forward pass",
    "*_time_backward_*": "time of the backward pass",
    "max_storage_mem_alloc_*": "peak of memory above the level before the call, in kB",
}
"""What the keys of results mean, for the file beside them."""


def result_of(record: Record, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the result of a record: inputs, memory in kB, times in ms (`avg_` is the mean, `p50_`
    the median); metrics that it lacks have no key. `details` are those of tensors, by name, that
    differ from others in more than shape; `sweep` has the values of swept variables, `source_id` is
    the case's id in its file.

    `inputs` replace the record's own, for a caller who wrote them in another form.
    """
    case = record.case
    name = case.label
    result: dict[str, Any] = {"inputs": display_arguments(case) if inputs is None else dict(inputs)}
    details = display_details(case) if inputs is None else {}
    if details:
        result["details"] = details
    if case.point and inputs is None:
        result["sweep"] = dict(case.point)
    if case.source_id:
        result["source_id"] = case.source_id
    figures = {
        f"max_storage_mem_alloc_{device_label(case.settings.device)}": statistic_value(
            record, MEMORY.name, "median"
        ),
    }
    for direction in PASSES:
        figures[f"avg_time_{direction}_{name}"] = statistic_value(record, direction, "mean")
    percentiles = PERCENTILES if record.time_kind is MetricKind.WALL else (MEDIAN,)
    if record.time_kind is MetricKind.WALL:
        figures[f"avg_time_{name}"] = statistic_value(record, TOTAL.name, "mean")
        for percentile in PERCENTILES:
            figures[f"{percentile}_time_{name}"] = statistic_value(record, TOTAL.name, percentile)
    for direction in PASSES:
        for percentile in percentiles:
            key = f"{percentile}_time_{direction}_{name}"
            figures[key] = statistic_value(record, direction, percentile)
    return result | {key: value for key, value in figures.items() if value is not None}


def results_by_operator(records: Iterable[Record]) -> dict[str, list[dict[str, Any]]]:
    """Returns the results of all measured records by operator, sorted by name, with the settings in
    which some differ."""
    listed = sort_by_operator(records)
    names = differing_settings(record.case for record in listed)
    results: dict[str, list[dict[str, Any]]] = {}
    for record in listed:
        if record.status is Status.OK:
            result = result_of(record)
            if names:
                settings = record.case.settings.identity()
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


def json_text(run: Run) -> str:
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
