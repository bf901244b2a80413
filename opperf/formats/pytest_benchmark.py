"""Files of pytest-benchmark: of `--benchmark-json`, and the folder of `--benchmark-save`."""

from __future__ import annotations

import re
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError
from opperf.formats.documents import TIME, known_unit, read_form, read_seconds, read_sha
from opperf.formats.exporting import Export, Written, iso_time
from opperf.formats.figures import (
    Benchmark,
    ForeignFile,
    Given,
    Intake,
    Machine,
    figure,
    number_of,
    point_of_samples,
    quartiles,
)
from opperf.formats.model import Entry, Point, Submission
from opperf.metrics import exported_metrics
from opperf.model import Settings, Struct, display_arguments
from opperf.repository import Commit
from opperf.results.details import display_details

UNVERSIONED = ("", "unversioned", "unknown")
"""Ids of the commit of a project without version control."""

UNKNOWN_BRANCH = ("(unknown)", "(detached head)")


class MachineInfo(Struct, frozen=True):
    """The machine of a file."""

    node: str = ""
    processor: str = ""
    machine: str = ""
    python_implementation: str = ""
    python_version: str = ""
    release: str = ""
    system: str = ""
    cpu: dict[str, Any] | None = None


class CommitInfo(Struct, frozen=True):
    """The commit of a file."""

    id: str | None = None
    time: str | None = None
    dirty: bool | None = False
    branch: str | None = None


class Stats(Struct, frozen=True):
    """Statistics of a benchmark, in seconds."""

    median: float | None
    q1: float | None = None
    q3: float | None = None
    rounds: int = 1
    data: list[float | None] | None = None


class Bench(Struct, frozen=True):
    """A benchmark of a file."""

    name: str
    stats: Stats | None
    fullname: str = ""
    group: str | None = None
    param: str | None = None
    params: dict[str, Any] | None = None


class File(Struct, frozen=True):
    """A file."""

    benchmarks: list[Bench]
    machine_info: MachineInfo = MachineInfo()
    commit_info: CommitInfo = CommitInfo()
    datetime: str = ""


def recognise_path(path: Path) -> bool:
    """Whether a folder is of files that `--benchmark-save` wrote."""
    return path.name == ".benchmarks" or (path / ".benchmarks").is_dir()


def recognise_value(value: Any) -> bool:
    """Whether a file's content is of pytest-benchmark."""
    return isinstance(value, dict) and {"benchmarks", "machine_info"} <= set(value)


def read(path: Path, given: Given) -> Intake:
    """Returns the runs of a file or of a folder of files. Raises `RunFileError`."""
    folder = path / ".benchmarks" if (path / ".benchmarks").is_dir() else path
    files = sorted(folder.rglob("*.json")) if path.is_dir() else [path]
    if not files:
        raise RunFileError(f"{path} has no file of pytest-benchmark, NAME.json")
    source = ForeignFile("pytest-benchmark", path, given, [])
    return source.intake([_read_file(source._replace(path=file)) for file in files])


def _read_file(source: ForeignFile) -> Submission:
    path = source.path
    file = read_form(path, File)
    info = file.commit_info
    if info.id in (None, *UNVERSIONED):
        commit = source.commit()
    else:
        sha = read_sha(info.id or "", path, "commit_info.id")
        commit = Commit(sha, time=read_seconds(info.time, path, "commit_info.time"))
    machine = source.machine(_facts(file.machine_info))
    return source.run(
        [commit.sha, file.datetime, machine.facts, [bench.fullname for bench in file.benchmarks]],
        commit,
        read_seconds(file.datetime, path, "datetime"),
        _entries(file, machine),
        [machine],
        branch="" if info.branch in UNKNOWN_BRANCH else info.branch,
        is_dirty=bool(info.dirty),
    )


def _facts(info: MachineInfo) -> dict[str, Any]:
    cpu = info.cpu or {}
    return {
        "hostname": info.node,
        "cpu": str(cpu.get("brand_raw") or cpu.get("brand") or info.processor),
        "cores": cpu.get("count"),
        "architecture": info.machine or str(cpu.get("arch_string_raw") or ""),
        "platform": f"{info.system} {info.release}".strip(),
        "python": f"{info.python_implementation} {info.python_version}".strip(),
    }


def _entries(file: File, machine: Machine) -> Iterator[Entry]:
    for bench in file.benchmarks:
        name = bench.fullname or bench.name
        ending = f"[{bench.param}]"
        # The full name has the id of the parameters, which need not be values of JSON.
        parameters = {"param": bench.param} if bench.param and name.endswith(ending) else {}
        shown = ", ".join(f"{key}={value}" for key, value in (bench.params or {}).items())
        benchmark = Benchmark(
            name.removesuffix(ending) if parameters else name,
            parameters,
            shown=shown or (bench.param or ""),
            category=bench.group or "",
        )
        yield figure(benchmark, "time", "seconds", machine, _point(bench.stats or Stats(None)))


def _point(stats: Stats) -> Point:
    if stats.data:
        return point_of_samples(stats.data)
    median, q25, q75 = map(number_of, (stats.median, stats.q1, stats.q3))
    return Point(n=stats.rounds, median=median, q25=q25, q75=q75)


VERSION = "5.3.1"
"""The version of pytest-benchmark with this layout."""

SECONDS = known_unit("seconds").size

FENCE = 1.5
"""Interquartile ranges from a quartile to the fence beyond which the format counts outliers."""

UNIT_WORDS = {"B": "bytes"}
"""Units that the format's users spell out."""


LOST = (
    *("earlier runs", "author", "subject", "command", "labels", "memory", "versions", "gpus"),
    *("failures", "other figures", "category", "tolerances"),
)
"""Facts that are not read again of what was written: the format has no place for them."""


def write(export: Export) -> Written:
    """Returns the times of the latest run that have samples: a benchmark is one time of one case,
    in a group with the other cases of that name and metric. Other figures of a case, for which the
    format has no place, are in `extra_info`."""
    run = export.latest()
    kept, warnings = export.sampled_times()
    others: dict[str, dict[str, float]] = {}
    for entry in run.figures:
        if entry.facts.unit != TIME:
            unit = UNIT_WORDS.get(entry.facts.unit, entry.facts.unit)
            others.setdefault(entry.key.case, {})[f"{entry.key.metric}_{unit}"] = entry.point.median
    content = {
        "machine_info": _machine_info(run.environments.get(run.entries[0].key.environment, {})),
        "commit_info": {
            "id": run.commit.sha or UNVERSIONED[1],
            "time": iso_time(run.commit.time) or None,
            "author_time": None,
            "dirty": run.is_dirty,
            "project": export.project,
            "branch": run.branch or UNKNOWN_BRANCH[0],
        },
        "benchmarks": [_bench(entry, others.get(entry.key.case, {}), export) for entry in kept],
        "datetime": iso_time(run.started),
        "version": VERSION,
    }
    return Written(content, warnings)


def _machine_info(facts: Mapping[str, Any]) -> dict[str, Any]:
    implementation, _, version = str(facts.get("python", "")).rpartition(" ")
    system, *release = re.split("[- ]", str(facts.get("platform", "")), maxsplit=1)
    cpu = str(facts.get("cpu", ""))
    return {
        "node": str(facts.get("hostname", "")),
        "processor": cpu,
        "machine": str(facts.get("architecture", "")),
        "python_compiler": "",
        "python_implementation": implementation,
        "python_implementation_version": version,
        "python_version": version,
        "python_build": ["", ""],
        "release": "".join(release),
        "system": system,
        "cpu": {"brand_raw": cpu, "count": facts.get("cores")},
    }


def _bench(entry: Entry, others: Mapping[str, float], export: Export) -> dict[str, Any]:
    name = export.names[entry.key.case].of_metric(entry.key.metric)
    record = export.records.get(entry.key.case)
    settings = record.case.settings if record else Settings(profiler="", max_time_s=0.0)
    of_case: dict[str, Any] = {}
    if record is not None:
        lacking = {
            f"{metric.name}_{UNIT_WORDS.get(metric.unit, metric.unit)}": None
            for metric in exported_metrics()
            if not metric.is_time
        }
        environment = export.runs[-1].environments.get(entry.key.environment, {})
        of_case = {
            "details": display_details(record.case),
            "category": record.case.category,
            "versions": environment.get("versions", {}),
            **lacking,
        }
    return {
        "group": name.called,
        "name": str(name),
        "fullname": str(name),
        "params": display_arguments(record.case) if record else {"inputs": name.parameters},
        "param": name.parameters or None,
        "extra_info": {"id": entry.key.case, **of_case, **others},
        "options": {
            "disable_gc": False,
            "timer": settings.profiler,
            "min_rounds": settings.runs or 1,
            "max_time": settings.max_time_s or settings.timeout_s,
            "min_time": 0.0,
            "warmup": settings.warmup != 0,
        },
        "stats": _stats(
            [sample / SECONDS for sample in entry.point.samples],
            record.summaries[entry.key.metric].loops if record else 1,
        ),
    }


def _stats(data: list[float], iterations: int) -> dict[str, Any]:
    ordered = sorted(data)
    total, mean = sum(data), statistics.fmean(data)
    stddev = statistics.stdev(data) if len(data) > 1 else 0.0
    q1, median, q3 = quartiles(data) if len(data) > 1 else data * 3
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
