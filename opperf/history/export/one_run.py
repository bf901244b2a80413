"""The latest run of a history in the forms that are of one run: Bencher's, pytest-benchmark's, and
that of PyTorch's operator benchmark."""

from __future__ import annotations

from typing import Any

from opperf.formats.documents import MEMORY, TIME, known_unit
from opperf.formats.model import Entry
from opperf.formats.operator_benchmark import KB
from opperf.history.export.collecting import Exported, Files, last_run, other_machines
from opperf.history.export.dashboards import excluded, iso_time
from opperf.history.model import number_or_null
from opperf.plurals import pluralize
from opperf.reports.formats import json_of
from opperf.results.exports import COMMIT, MEASURES, VERSION, benchmark_stats

OF_TIMES = {**MEASURES, "time": "latency"}
"""Measures of Bencher for metrics of time that have another name there."""

SECONDS, US = known_unit("seconds").size, known_unit("us").size


def write_bencher(exported: Exported) -> Files:
    """Returns the figures in Bencher's metric format."""
    run = last_run(exported)
    found: dict[str, dict[str, Any]] = {}
    for entry in run.figures:
        name = str(exported.names[entry.key.case])
        measure = OF_TIMES.get(entry.key.metric, entry.key.metric)
        bounds = {"lower_value": entry.point.low, "upper_value": entry.point.high}
        known = {key: bound for key, bound in bounds.items() if number_or_null(bound) is not None}
        found.setdefault(name, {})[measure] = {"value": entry.point.median, **known}
    warnings = (
        *excluded(len(run.outcomes)),
        *other_machines(exported),
        *exported.excluded_verdicts(),
    )
    return Files({"": json_of(found).encode()}, warnings)


def write_pytest(exported: Exported) -> Files:
    """Returns the times that have samples in the layout of pytest-benchmark."""
    run = last_run(exported)
    commit = run.stored.commit
    facts = exported.environments[run.entries[0].key.environment].facts
    times = [entry for entry in run.figures if entry.facts.unit == TIME]
    kept = [entry for entry in times if entry.point.samples]
    content = {
        "machine_info": {
            "node": str(facts.get("hostname", "")),
            "processor": str(facts.get("cpu", "")),
            "machine": str(facts.get("architecture", "")),
            "python_compiler": "",
            "python_implementation": "",
            "python_implementation_version": "",
            "python_version": str(facts.get("python", "")),
            "python_build": ["", ""],
            "release": "",
            "system": str(facts.get("platform", "")),
            "cpu": {"brand_raw": str(facts.get("cpu", "")), "count": facts.get("cores")},
        },
        "commit_info": {
            **COMMIT,
            "id": commit.sha,
            "time": iso_time(commit.time) or None,
            "dirty": run.stored.is_dirty,
            "project": exported.project.name,
            "branch": run.stored.branch,
        },
        "benchmarks": [_benchmark(entry, exported) for entry in kept],
        "datetime": iso_time(run.stored.started),
        "version": VERSION,
    }
    without = len(times) - len(kept)
    others = len(run.figures) - len(times)
    warnings = (
        *excluded(len(run.outcomes)),
        *([f"excluded: {pluralize(without, 'time')} without samples"] if without else []),
        *([f"excluded: {pluralize(others, 'figure')} that is no time"] if others else []),
        *other_machines(exported),
        *exported.excluded_verdicts(),
    )
    return Files({"": json_of(content).encode()}, warnings)


def _benchmark(entry: Entry, exported: Exported) -> dict[str, Any]:
    name = exported.names[entry.key.case].of_metric(entry.key.metric)
    return {
        "group": name.called,
        "name": str(name),
        "fullname": str(name),
        "params": {"inputs": name.parameters} if name.parameters else None,
        "param": name.parameters or None,
        "extra_info": {"id": entry.key.case},
        "options": {
            "disable_gc": False,
            "timer": "",
            "min_rounds": entry.point.n,
            "max_time": 0.0,
            "min_time": 0.0,
            "warmup": False,
        },
        "stats": benchmark_stats([value / SECONDS for value in entry.point.samples], 1),
    }


RUNS = {"forward": "Forward", "backward": "Backward"}
"""Of the operator benchmark, by the metric with the time."""


def write_operator_benchmark(exported: Exported) -> Files:
    """Returns the times of passes, with memory and bandwidth, as the operator benchmark's tests."""
    run = last_run(exported)
    by_case: dict[str, dict[str, Entry]] = {}
    for entry in run.figures:
        by_case.setdefault(entry.key.case, {})[entry.key.metric] = entry
    tests: list[dict[str, Any]] = []
    written = 0
    for case, metrics in by_case.items():
        for metric, word in RUNS.items():
            time = metrics.get(metric)
            if time is None or time.facts.unit != TIME:
                continue
            name = exported.names[case]
            test = {
                "test_name": name.called,
                "input_config": name.parameters,
                "mode": "Eager",
                "run": word,
                "latency": time.point.median / US,
                "latency unit": "us",
            }
            written += 1
            memory = metrics.get(f"{metric}_memory") or metrics.get(
                "memory" if metric == "forward" else ""
            )
            if memory is not None and memory.facts.unit == MEMORY:
                test |= {"peak memory": memory.point.median / KB.size, "memory unit": "KB"}
                written += 1
            bandwidth = metrics.get(f"{metric}_bandwidth")
            if bandwidth is not None:
                test["memory bandwidth"] = bandwidth.point.median
                test["memory bandwidth unit"] = bandwidth.facts.unit
                written += 1
            tests.append(test)
    left = len(run.figures) - written
    warnings = (
        *excluded(len(run.outcomes)),
        *([f"excluded: {pluralize(left, 'figure')} of no pass"] if left else []),
        *other_machines(exported),
        *exported.excluded_verdicts(),
    )
    return Files({"": json_of(tests).encode()}, warnings)
