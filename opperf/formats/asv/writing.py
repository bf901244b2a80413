"""A history as a folder of asv's results: every metric is a benchmark, of which inputs are the
parameter."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from opperf.formats.asv.reading import BENCHMARKS, COLUMNS, MACHINE, MS, NARROWER, SOURCE
from opperf.formats.documents import MEMORY, TIME, known_unit
from opperf.formats.exporting import Export, Written
from opperf.formats.model import Point, Submission
from opperf.model.declaring import digest
from opperf.plurals import pluralize

VERSION = 2
"""Of the files of results and of benchmarks; that of a machine's file is 1."""

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters that names of files and folders are better without."""

SHA_IN_NAME = 8
"""Characters of a commit's id in the name of a file."""

PARAMETER = "inputs"


class Kind(NamedTuple):
    """The type of a benchmark, and its unit."""

    type: str
    unit: str


KINDS = {TIME: Kind("time", "seconds"), MEMORY: Kind("memory", "bytes")}
"""By the unit of a series; any other is tracked."""


class Bench(NamedTuple):
    """A benchmark of the export."""

    name: str
    kind: Kind
    size: float
    """Of the benchmark's unit, in that of the series."""


LOST = (
    *("author", "subject", "branch", "command", "labels", "versions", "gpus", "reasons"),
    *("category", "direction", "tolerances", "numbers of samples without quartiles"),
    "intervals without quartiles",
)
"""Facts that are not read again of what was written: the format has no place for them."""


def write(export: Export) -> Written:
    """Returns the files of a folder of results."""
    benches = _benches(export)
    parametrised = {
        benches[case, metric].name for case, metric in benches if export.names[case].parameters
    }
    files: dict[str, bytes] = {}
    results: dict[str, dict[str, Any]] = {}
    for run in export.runs:
        for environment in dict.fromkeys(entry.key.environment for entry in run.entries):
            machine = _machine(run.environments[environment], environment)
            files[f"{machine['machine']}/{MACHINE}"] = _text({**machine, "version": 1})
            name = f"{run.commit.sha[:SHA_IN_NAME]}-{environment}.json"
            path = f"{machine['machine']}/{name}"
            # Another run of the same commit and environment completes the file.
            content = results.setdefault(path, _header(run, environment, machine))
            for bench, entries in _by_bench(run, environment, benches).items():
                row = _row(bench, entries, export, bench.name in parametrised, run)
                content["results"][bench.name] = row
    listed = {bench.name: _declared(bench, export, benches) for bench in set(benches.values())}
    files[BENCHMARKS] = _text({**listed, "version": VERSION})
    for path, content in results.items():
        files[path] = _text({**content, "version": VERSION})
    larger = {
        benches[entry.key.case, entry.key.metric].name
        for run in export.runs
        for entry in run.figures
        if not entry.facts.lower_is_better
    }
    warnings = []
    if larger:
        warnings.append(
            f"{pluralize(len(larger), 'benchmark')}, as {min(larger)}: larger is better, which asv "
            "has no mark for"
        )
    return Written(files, [*warnings, *export.left_out()])


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


def _benches(export: Export) -> dict[tuple[str, str], Bench]:
    """Returns the benchmark of each case and metric. A case that never had a figure is one of the
    benchmarks of the cases with its name, else of a time."""
    found: dict[tuple[str, str], Bench] = {}
    for run in export.runs:
        for entry in run.figures:
            known = KINDS.get(entry.facts.unit, Kind("track", entry.facts.unit))
            size = known_unit(known.unit).size if entry.facts.unit in KINDS else 1.0
            name = _bench_name(export.names[entry.key.case].called, entry.key.metric, run)
            found[entry.key.case, entry.key.metric] = Bench(name, known, size)
    by_name: dict[str, dict[str, Bench]] = {}
    for (case, metric), bench in found.items():
        by_name.setdefault(export.names[case].called, {})[metric] = bench
    measured = {case for case, _ in found}
    for run in export.runs:
        for entry in run.outcomes:
            name, case = export.names[entry.key.case].called, entry.key.case
            if case not in measured:
                of_time = _bench_name(name, "time", run)
                time = {"time": Bench(of_time, KINDS[TIME], known_unit("seconds").size)}
                for metric, bench in by_name.get(name, time).items():
                    found[case, metric] = bench
    return found


def _bench_name(name: str, metric: str, run: Submission) -> str:
    return name if run.source == SOURCE else f"{name}.{metric}"


def _machine(facts: Mapping[str, Any], environment: str) -> dict[str, str]:
    named = UNSAFE.sub("_", str(facts.get("machine") or facts.get("hostname") or environment))
    return {
        "machine": named.lstrip(".") or environment,
        "os": str(facts.get("platform", "")),
        "arch": str(facts.get("architecture", "")),
        "cpu": str(facts.get("cpu", "")),
        "num_cpu": str(facts.get("cores", "")),
        "ram": str(facts.get("memory") or facts.get("memory_bytes") or ""),
    }


def _header(run: Submission, environment: str, machine: Mapping[str, str]) -> dict[str, Any]:
    when = run.started if math.isnan(run.commit.time) else run.commit.time
    return {
        "commit_hash": run.commit.sha,
        "env_name": environment,
        "date": round(when / MS),
        "params": {**machine, "environment": environment},
        "python": str(run.environments[environment].get("python", "")),
        "requirements": {},
        "env_vars": {},
        "result_columns": COLUMNS,
        "results": {},
        "durations": {},
    }


def _by_bench(
    run: Submission, environment: str, benches: Mapping[tuple[str, str], Bench]
) -> dict[Bench, list[tuple[str, Point]]]:
    here = [entry for entry in run.entries if entry.key.environment == environment]
    points = {(entry.key.case, entry.key.metric): entry.point for entry in here}
    measured = {entry.key.case for entry in run.figures}
    # Of a case without any figure, every benchmark failed.
    failed = {entry.key.case: entry.point for entry in here if entry.key.case not in measured}
    found: dict[Bench, list[tuple[str, Point]]] = {}
    for (case, metric), bench in benches.items():
        point = points.get((case, metric)) or failed.get(case)
        if point is not None:
            found.setdefault(bench, []).append((case, point))
    return found


def _row(
    bench: Bench,
    cases: Iterable[tuple[str, Point]],
    export: Export,
    is_parametrised: bool,
    run: Submission,
) -> list[Any]:
    listed = list(cases)
    points = [point for _, point in listed]
    inputs = [export.names[case].parameters for case, _ in listed]

    # asv fails where a statistic is there and the quartiles are not.
    described = [point if math.isfinite(point.q25) else Point() for point in points]

    def column(values: Iterable[float]) -> list[float | None]:
        return [value / bench.size if math.isfinite(value) else None for value in values]

    values = {
        "result": [
            math.nan if point.status == "skipped" else value
            for point, value in zip(points, column(point.median for point in points), strict=True)
        ],
        "params": [inputs] if is_parametrised else [],
        "version": _version(bench),
        "started_at": round(run.started / MS),
        "duration": None,
        "stats_ci_99_a": [_bound(point, point.low, bench, -math.inf) for point in described],
        "stats_ci_99_b": [_bound(point, point.high, bench, math.inf) for point in described],
        "stats_q_25": column(point.q25 for point in described),
        "stats_q_75": column(point.q75 for point in described),
        "stats_number": [1 if point.n else None for point in described],
        "stats_repeat": [point.n or None for point in described],
        "samples": [column(point.samples) or None for point in points],
        "profile": None,
    }
    return [values[name] for name in COLUMNS]


def _bound(point: Point, bound: float, bench: Bench, unknown: float) -> float | None:
    """Returns a bound of the interval of 99 %: infinite if it is unknown, as asv has it."""
    if not point.n:
        return None
    wide = point.median + (bound - point.median) / NARROWER
    return wide / bench.size if math.isfinite(wide) else unknown


def _version(bench: Bench) -> str:
    return digest([*bench])


def _declared(
    bench: Bench, export: Export, benches: Mapping[tuple[str, str], Bench]
) -> dict[str, Any]:
    inputs = [export.names[case].parameters for (case, _), own in benches.items() if own == bench]
    is_parametrised = any(inputs)
    return {
        "code": "",
        "name": bench.name,
        "param_names": [PARAMETER] if is_parametrised else [],
        "params": [inputs] if is_parametrised else [],
        "pretty_name": bench.name,
        "timeout": 60.0,
        "type": bench.kind.type,
        "unit": bench.kind.unit,
        "version": _version(bench),
    }
