"""The figures of a run for other tools.

Bencher's metric format, version 0 (`bencher run --adapter json`): benchmarks, each an object of
measures with a `value` and, if there is an interval, `lower_value` and `upper_value`; units are
set in Bencher itself. github-action-benchmark's `customSmallerIsBetter`: a list of figures.
The JSON of pytest-benchmark: a benchmark is one time of one case, in a group with the other cases
of that operator and metric. Times are in seconds. Other metrics, for which the format has no place,
are in `extra_info`.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opperf import model
from opperf.errors import RunFileError
from opperf.instruments.times import BACKWARD, FORWARD
from opperf.metrics import exported_metrics, metrics_in
from opperf.plurals import pluralize
from opperf.results.details import display_details
from opperf.results.figures import CaseName, case_name, distinct_names
from opperf.results.units import unit_of
from opperf.results.verifications import is_wrong


class ExportEntry(NamedTuple):
    """A record with figures to export, and its name."""

    record: model.Record
    name: CaseName
    metrics: tuple[model.Metric, ...]


def select_figures(run: model.Run) -> tuple[list[ExportEntry], list[str]]:
    """Returns the records to export, and warnings. Raises `RunFileError` without a figure."""
    found = [(record, _finite_metrics(record)) for record in run.records]
    kept = [(record, metrics) for record, metrics in found if metrics]
    if not kept:
        raise RunFileError("the run has no results to export: no case was measured")
    names = distinct_names({record.id: case_name(record.case) for record, _ in kept})
    selected = [ExportEntry(record, names[record.id], metrics) for record, metrics in kept]
    wrong = sum(map(is_wrong, run.records))
    left = len(found) - len(kept) - wrong
    warnings = [f"excluded: {pluralize(left, 'case')} not measured"] if left else []
    warnings += [f"excluded: {pluralize(wrong, 'case')} with a wrong result"] if wrong else []
    odd = sum(
        len(_usual(record)) - len(metrics) for record, metrics in found if not is_wrong(record)
    )
    if odd:
        warnings.append(f"excluded: {pluralize(odd, 'figure')} not finite")
    return selected, warnings


def _usual(record: model.Record) -> tuple[model.Metric, ...]:
    """Returns the metrics that are exported, from which the others can be computed."""
    return tuple(metric for metric in metrics_in([record]) if metric.usual)


def _finite_metrics(record: model.Record) -> tuple[model.Metric, ...]:
    # Tools that track times would take a wrong result's for an improvement.
    if record.status is not model.Status.OK or is_wrong(record):
        return ()
    return tuple(
        metric for metric in _usual(record) if math.isfinite(record.summaries[metric.name].median)
    )


def are_finite(values: Iterable[float]) -> bool:
    """Returns whether all values can be written as JSON."""
    return all(math.isfinite(value) for value in values)


MEASURES = {FORWARD.name: "latency", BACKWARD.name: "backward-latency"}
"""Metrics whose measure has another name. Every project of Bencher has `latency`, in nanoseconds;
the other measures are created by their first use, in the metric's unit."""


def bencher(run: model.Run) -> tuple[dict[str, Any], list[str]]:
    """Returns the run's medians and warnings. Raises `RunFileError` if there is none."""
    found, warnings = select_figures(run)
    return {
        str(entry.name): {
            MEASURES.get(metric.name, metric.name): _measure(entry.record.summaries[metric.name])
            for metric in entry.metrics
        }
        for entry in found
    }, warnings


def _measure(summary: model.Summary) -> dict[str, float]:
    bounds = {"lower_value": summary.ci_low, "upper_value": summary.ci_high}
    has_interval = summary.n > 1 and are_finite(bounds.values())
    return {"value": summary.median, **(bounds if has_interval else {})}


def github_action(run: model.Run) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the run's medians and warnings. Raises `RunFileError` if there is none."""
    found, warnings = select_figures(run)
    figures = [(entry, metric) for entry in found for metric in entry.metrics]
    larger = sum(not metric.lower_is_better for _, metric in figures)
    if larger:
        warnings.append(f"excluded: {pluralize(larger, 'figure')} for which larger is better")
    return [_entry(entry, metric) for entry, metric in figures if metric.lower_is_better], warnings


def _entry(one: ExportEntry, metric: model.Metric) -> dict[str, Any]:
    summary = one.record.summaries[metric.name]
    unit = unit_of(summary.unit)
    entry: dict[str, Any] = {
        "name": f"{one.name} {metric.name}",
        "unit": unit.name,
        "value": summary.median / unit.size,
        "extra": f"median of {pluralize(summary.n, 'sample')}\ncase {one.record.id}",
    }
    reach = summary.half_width
    if reach is not None:
        entry["range"] = f"± {reach / unit.size}"
    return entry


VERSION = "5.3.1"
"""The version of pytest-benchmark with this layout."""

NS = 1e-9
"""Seconds."""

FENCE = 1.5
"""Interquartile ranges from a quartile to the fence beyond which the format counts outliers."""


def pytest_benchmark(run: model.Run) -> tuple[dict[str, Any], list[str]]:
    """Returns the run's times, and warnings. Raises `RunFileError` if no record has entry."""
    found, warnings = select_figures(run)
    benchmarks, without = [], 0
    for entry in found:
        for metric in entry.metrics:
            if not metric.is_time:
                continue
            samples = entry.record.samples.get(metric.name, [])
            if samples and are_finite(samples):
                benchmarks.append(_benchmark(entry, metric.name, samples, run.environment))
            else:
                without += 1
    if without:
        warnings.append(f"excluded: {pluralize(without, 'time')} without samples")
    return {
        "machine_info": _machine(run.environment),
        "commit_info": _commit(run.header.labels),
        "benchmarks": benchmarks,
        "datetime": run.header.started,
        "version": VERSION,
    }, warnings


def _commit(labels: Mapping[str, str]) -> dict[str, Any]:
    known = {field: labels[label] for label, field in LABELS.items() if label in labels}
    return {**COMMIT, **known}


LABELS = {"commit": "id", "branch": "branch", "project": "project"}
"""Labels with a field of the format."""

COMMIT: dict[str, Any] = {
    "id": "unversioned",
    "time": None,
    "author_time": None,
    "dirty": False,
    "project": "opperf",
    "branch": "(unknown)",
}
"""The format's values for a project without version control."""


def _machine(environment: model.Environment | None) -> dict[str, Any]:
    if environment is None:
        return {}
    system, _, release = environment.platform.partition("-")
    return {
        "node": environment.hostname,
        "processor": environment.cpu,
        "machine": "",
        "python_compiler": "",
        "python_implementation": "CPython",
        "python_implementation_version": environment.python,
        "python_version": environment.python,
        "python_build": ["", ""],
        "release": release,
        "system": system,
        "cpu": {"brand_raw": environment.cpu, "count": environment.cores},
    }


def _benchmark(
    one: ExportEntry, metric: str, samples: Sequence[float], environment: model.Environment | None
) -> dict[str, Any]:
    record, case = one.record, one.record.case
    name = one.name.of_metric(metric)
    return {
        "group": name.called,
        "name": str(name),
        "fullname": str(name),
        "params": model.display_arguments(case),
        "param": name.parameters,
        "extra_info": {
            "id": record.id,
            "details": display_details(case),
            "category": case.category,
            "versions": {} if environment is None else environment.versions,
            **_others(one),
        },
        "options": _options(case.settings),
        "stats": benchmark_stats(
            [sample * NS for sample in samples], record.summaries[metric].loops
        ),
    }


UNIT_WORDS = {"B": "bytes"}
"""Units that the format's users spell out."""


def _others(one: ExportEntry) -> dict[str, float | None]:
    """Returns the figures that are no times; None for a usual one that the case lacks."""
    metrics = dict.fromkeys((*exported_metrics(), *one.metrics))
    return {
        f"{metric.name}_{UNIT_WORDS.get(metric.unit, metric.unit)}": (
            one.record.summaries[metric.name].median if metric in one.metrics else None
        )
        for metric in metrics
        if not metric.is_time
    }


def _options(settings: model.Settings) -> dict[str, Any]:
    return {
        "disable_gc": False,
        "timer": settings.profiler,
        "min_rounds": settings.runs or 1,
        "max_time": settings.max_time_s or settings.timeout_s,
        "min_time": 0.0,
        "warmup": settings.warmup != 0,
    }


def benchmark_stats(data: list[float], iterations: int) -> dict[str, Any]:
    """Returns the statistics of samples in seconds, as pytest-benchmark's files have them."""
    ordered = sorted(data)
    total, mean = sum(data), statistics.fmean(data)
    stddev = statistics.stdev(data) if len(data) > 1 else 0.0
    q1, median, q3 = (
        statistics.quantiles(data, n=4, method="inclusive") if len(data) > 1 else data * 3
    )
    low, high = q1 - FENCE * (q3 - q1), q3 + FENCE * (q3 - q1)
    beyond = sum(not low <= value <= high for value in data)
    far = sum(abs(value - mean) > stddev for value in data)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": stddev,
        "rounds": len(data),
        "median": median,
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": beyond,
        "stddev_outliers": far,
        "outliers": f"{far};{beyond}",
        "ld15iqr": ordered[bisect_left(ordered, low)],
        "hd15iqr": ordered[bisect_right(ordered, high) - 1],
        "ops": len(data) / total if total else 0.0,
        "total": total,
        "data": data,
        "iterations": iterations,
    }
