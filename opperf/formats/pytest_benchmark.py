"""Files of pytest-benchmark: of `--benchmark-json`, and the folder of `--benchmark-save`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError
from opperf.formats.documents import as_form, parse, read_bytes, read_seconds, read_sha
from opperf.formats.figures import (
    Benchmark,
    Given,
    Intake,
    Machine,
    commit_of,
    figure,
    file_time,
    machine_of,
    number_of,
    point_of_samples,
    submit,
)
from opperf.formats.model import Entry, Point, Submission
from opperf.model import Struct
from opperf.repository import Commit

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


def recognise(path: Path) -> bool:
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
    warnings: list[str] = []
    return Intake(tuple(_read_file(file, given, warnings) for file in files), tuple(warnings))


def _read_file(path: Path, given: Given, warnings: list[str]) -> Submission:
    file = as_form(parse(read_bytes(path), path), File, path)
    info = file.commit_info
    if info.id in (None, *UNVERSIONED):
        commit = commit_of(path, given)
    else:
        sha = read_sha(info.id or "", path, "commit_info.id")
        commit = Commit(sha, time=read_seconds(info.time, path, "commit_info.time"))
    started = read_seconds(file.datetime, path, "datetime")
    machine = _machine(file.machine_info, given)
    branch = info.branch if info.branch not in (None, "", *UNKNOWN_BRANCH) else given.branch
    return submit(
        "pytest-benchmark",
        [commit.sha, file.datetime, machine.facts, [bench.fullname for bench in file.benchmarks]],
        path,
        commit,
        branch or "",
        file_time(path) if math.isnan(started) else started,
        _entries(file, machine),
        [machine],
        warnings,
        is_dirty=bool(info.dirty),
    )


def _machine(info: MachineInfo, given: Given) -> Machine:
    cpu = info.cpu or {}
    facts = {
        "hostname": info.node,
        "cpu": str(cpu.get("brand_raw") or cpu.get("brand") or info.processor),
        "cores": cpu.get("count"),
        "architecture": info.machine or str(cpu.get("arch_string_raw") or ""),
        "platform": f"{info.system} {info.release}".strip(),
        "python": f"{info.python_implementation} {info.python_version}".strip(),
    }
    return machine_of(facts, given)


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
