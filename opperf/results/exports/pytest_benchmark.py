"""The JSON of pytest-benchmark, for its command line and other tools that read it.

A benchmark is one time of one case, `relu.forward[data: (1024, 1024)]`, in a group with the other
cases of that operator and metric. Times are in seconds. Other metrics, for which the format has no
place, are in `extra_info`.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from opperf.metrics import exported_metrics
from opperf.model import Environment, Run, Settings, display_arguments
from opperf.plurals import pluralize
from opperf.results.details import display_details
from opperf.results.exports.exported import ExportEntry, are_finite, select_figures
from opperf.results.settings import changed_settings_text
from opperf.results.text import inputs_text

VERSION = "5.3.1"
"""The version of pytest-benchmark with this layout."""

NS = 1e-9
"""Seconds."""

FENCE = 1.5
"""Interquartile ranges from a quartile to the fence beyond which the format counts outliers."""


def pytest_benchmark(run: Run) -> tuple[dict[str, Any], list[str]]:
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
    """Returns the commit, with the fields that the user's labels have."""
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
"""The format's values for a project without version control: a run file has no commit of a
repository."""


def _machine(environment: Environment) -> dict[str, Any]:
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
    one: ExportEntry, metric: str, samples: Sequence[float], environment: Environment
) -> dict[str, Any]:
    record, case = one.record, one.record.case
    settings = changed_settings_text(case.settings.identity())
    name = f"{case.label}.{metric}{one.name.removeprefix(case.label)}"
    return {
        "group": f"{case.label}.{metric}",
        "name": f"{name} {settings}".rstrip(),
        "fullname": f"{one.place}::{name}",
        "params": display_arguments(case),
        "param": inputs_text(case),
        "extra_info": {
            "id": record.id,
            "details": display_details(case),
            "category": case.category,
            "versions": environment.versions,
            **_others(one),
        },
        "options": _options(case.settings),
        "stats": _stats([sample * NS for sample in samples], record.summaries[metric].loops),
    }


UNIT_WORDS = {"B": "bytes"}
"""Units that the format's users spell out."""


def _others(one: ExportEntry) -> dict[str, float | None]:
    """Figures of the metrics that are no times, each under its name and unit; None for a usual one
    that the case has none of."""
    metrics = dict.fromkeys((*exported_metrics(), *one.metrics))
    return {
        f"{metric.name}_{UNIT_WORDS.get(metric.unit, metric.unit)}": (
            one.record.summaries[metric.name].median if metric in one.metrics else None
        )
        for metric in metrics
        if not metric.is_time
    }


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "disable_gc": False,
        "timer": settings.profiler,
        "min_rounds": settings.runs or 1,
        "max_time": settings.max_time_s or settings.timeout_s,
        "min_time": 0.0,
        "warmup": settings.warmup != 0,
    }


def _stats(data: list[float], iterations: int) -> dict[str, Any]:
    """Returns the format's statistics, in seconds."""
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
