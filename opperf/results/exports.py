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
from collections.abc import Mapping
from typing import Any, NamedTuple

from opperf import model
from opperf.errors import RunFileError
from opperf.instruments.times import BACKWARD, FORWARD
from opperf.metrics import exported_metrics, metrics_in
from opperf.plurals import pluralize
from opperf.results.details import display_details
from opperf.results.figures import CaseName, Measurement, case_figures, case_name, distinct_names
from opperf.results.units import unit_of
from opperf.results.verifications import is_wrong


class ExportEntry(NamedTuple):
    """A record with figures to export, and its name."""

    record: model.Record
    name: CaseName
    figures: Mapping[str, Measurement]
    """The usual ones, from which the others can be computed, in the order of tables."""


def select_figures(run: model.Run) -> tuple[list[ExportEntry], list[str]]:
    """Returns the records to export, and warnings. Raises `RunFileError` without a figure."""
    usual = [metric.name for metric in metrics_in(run.records) if metric.usual]
    # Tools that track times would take a wrong result's for an improvement.
    found = [(own.record, own.compared) for own in case_figures(run)]
    listed = [
        (record, {name: own[name] for name in usual if name in own and own[name].is_finite})
        for record, own in found
    ]
    kept = [(record, own) for record, own in listed if own]
    if not kept:
        raise RunFileError("the run has no results to export: no case was measured")
    names = distinct_names({record.id: case_name(record.case) for record, _ in kept})
    wrong = sum(map(is_wrong, run.records))
    left = len(found) - len(kept) - wrong
    warnings = [f"excluded: {pluralize(left, 'case')} not measured"] if left else []
    warnings += [f"excluded: {pluralize(wrong, 'case')} with a wrong result"] if wrong else []
    odd = sum(not own[name].is_finite for _, own in found for name in usual if name in own)
    if odd:
        warnings.append(f"excluded: {pluralize(odd, 'figure')} not finite")
    return [ExportEntry(record, names[record.id], own) for record, own in kept], warnings


MEASURES = {FORWARD.name: "latency", BACKWARD.name: "backward-latency"}
"""Metrics whose measure has another name. Every project of Bencher has `latency`, in nanoseconds;
the other measures are created by their first use, in the metric's unit."""


def bencher(run: model.Run) -> tuple[dict[str, Any], list[str]]:
    """Returns the run's medians and warnings. Raises `RunFileError` if there is none."""
    found, warnings = select_figures(run)
    return {
        str(entry.name): {
            MEASURES.get(metric, metric): {"value": own.median, **_bounds(own)}
            for metric, own in entry.figures.items()
        }
        for entry in found
    }, warnings


def _bounds(found: Measurement) -> dict[str, float]:
    interval = found.interval
    return {} if interval is None else {"lower_value": interval[0], "upper_value": interval[1]}


def github_action(run: model.Run) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the run's medians and warnings. Raises `RunFileError` if there is none."""
    found, warnings = select_figures(run)
    figures = [(entry, own) for entry in found for own in entry.figures.values()]
    larger = sum(not own.metric.lower_is_better for _, own in figures)
    if larger:
        warnings.append(f"excluded: {pluralize(larger, 'figure')} for which larger is better")
    return [_entry(entry, own) for entry, own in figures if own.metric.lower_is_better], warnings


def _entry(one: ExportEntry, found: Measurement) -> dict[str, Any]:
    unit = unit_of(found.unit)
    entry: dict[str, Any] = {
        "name": f"{one.name} {found.metric.name}",
        "unit": unit.name,
        "value": found.median / unit.size,
        "extra": f"median of {pluralize(found.summary.n, 'sample')}\ncase {one.record.id}",
    }
    if found.half_width is not None:
        entry["range"] = f"± {found.half_width / unit.size}"
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
        for own in entry.figures.values():
            if not own.metric.is_time:
                continue
            if own.samples and all(map(math.isfinite, own.samples)):
                benchmarks.append(_benchmark(entry, own, run.environment))
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
    one: ExportEntry, found: Measurement, environment: model.Environment | None
) -> dict[str, Any]:
    record, case = one.record, one.record.case
    name = one.name.of_metric(found.metric.name)
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
        "stats": benchmark_stats([sample * NS for sample in found.samples], found.summary.loops),
    }


UNIT_WORDS = {"B": "bytes"}
"""Units that the format's users spell out."""


def _others(one: ExportEntry) -> dict[str, float | None]:
    """Returns the figures that are no times; None for a usual one that the case lacks."""
    metrics = dict.fromkeys((*exported_metrics(), *(own.metric for own in one.figures.values())))
    return {
        f"{metric.name}_{UNIT_WORDS.get(metric.unit, metric.unit)}": (
            one.figures[metric.name].median if metric.name in one.figures else None
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
