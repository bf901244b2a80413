"""PyTorch's benchmark records, version 3, as its dashboard takes them: a list, or one in a line."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.formats.documents import (
    UNITS,
    as_form,
    is_rate,
    label,
    parse,
    read_bytes,
    read_seconds,
    read_sha,
)
from opperf.formats.exporting import Export, Remark, Written
from opperf.formats.figures import (
    Benchmark,
    ForeignFile,
    Given,
    Intake,
    Machine,
    figure,
    number_or_null,
    outcome,
    point_of_samples,
)
from opperf.formats.model import OK, Entry, Point, Submission
from opperf.model import Struct
from opperf.model.declaring import digest
from opperf.repository import Commit

IN_NAME = re.compile(r"[(_ ](\w+)\)?\Z")
"""Unit at the end of a metric's name: `latency(us)`, `compile_time_s`."""

MANY = frozenset({"accuracy", "speedup"})
"""Metrics that are no rates, and of which more is better."""


class BenchmarkFacts(Struct, frozen=True):
    """The program that was run."""

    name: str
    mode: str | None = None
    dtype: str | None = None
    extra_info: dict[str, Any] | None = None


class Model(Struct, frozen=True):
    """The model, or the operator."""

    name: str
    type: str | None = None
    backend: str | None = None
    extra_info: dict[str, Any] | None = None


class Metric(Struct, frozen=True):
    """The values."""

    name: str
    benchmark_values: list[float | None]
    extra_info: dict[str, Any] | None = None


class Dependency(Struct, frozen=True):
    """Another repository that was used."""

    sha: str | None = None
    version: str | None = None


class Runner(Struct, frozen=True):
    """The machine."""

    name: str | None = None
    cpu_info: str | None = None
    cpu_count: int | None = None
    gpu_info: str | None = None
    gpu_count: int | None = None
    extra_info: dict[str, Any] | None = None


class Record(Struct, frozen=True):
    """A record: its parts after `metric` are those that a CI completes."""

    benchmark: BenchmarkFacts
    metric: Metric
    model: Model | None = None
    inputs: dict[str, Any] | None = None
    dependencies: dict[str, Dependency] | None = None
    runners: list[Runner] | None = None
    name: str = ""
    """That of the job."""
    repo: str = ""
    head_branch: str = ""
    head_sha: str = ""
    workflow_id: int | str | None = None
    run_attempt: int | str | None = None
    job_id: int | str | None = None
    timestamp: float | None = None


def recognise_value(value: Any) -> bool:
    """Whether a file's content is of such records."""
    records = value if isinstance(value, list) else [value]
    return bool(records) and all(
        isinstance(record, dict) and {"benchmark", "metric"} <= set(record) for record in records
    )


def read(path: Path, given: Given) -> Intake:
    """Returns the runs of a file, one for each job and commit. Raises `RunFileError`."""
    records = _read_records(path)
    file = ForeignFile("pytorch", path, given, [])
    jobs: dict[tuple[Any, ...], dict[str, Record]] = {}
    for at, record in records.items():
        key = (*_job(record), record.head_sha)
        jobs.setdefault(key, {})[at] = record
    if any(record.timestamp is None for record in records.values()):
        file.warnings.append(f"{path}: not every record has a timestamp; the file's time is taken")
    return file.intake([_submission(own, file) for own in jobs.values()])


def _read_records(path: Path) -> dict[str, Record]:
    text = read_bytes(path)
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.lstrip()[:1] == b"{" for line in lines):
        found = {f"line {at}": parse(line, path) for at, line in enumerate(lines, start=1)}
    else:
        value = parse(text, path)
        listed = value if isinstance(value, list) else [value]
        found = {f"[{at}]": one for at, one in enumerate(listed)}
    return {at: as_form(value, Record, path, at) for at, value in found.items()}


def _submission(records: Mapping[str, Record], file: ForeignFile) -> Submission:
    at, first = next(iter(records.items()))
    if first.head_sha:
        commit = Commit(read_sha(first.head_sha, file.path, f"{at}.head_sha"))
    else:
        commit = file.commit()
    times = [
        read_seconds(record.timestamp, file.path, f"{place}.timestamp")
        for place, record in records.items()
        if record.timestamp is not None
    ]
    machines = {place: file.machine(_facts(record)) for place, record in records.items()}
    content = None if first.job_id is not None else digest([*records.values()])
    return file.run(
        [_job(first), commit.sha, content],
        commit,
        max(times, default=math.nan),
        [_entry(record, machines[place]) for place, record in records.items()],
        machines.values(),
        branch=first.head_branch,
    )


def _job(record: Record) -> tuple[Any, ...]:
    """Returns what tells the runs of a commit apart."""
    return record.repo, record.workflow_id, record.job_id, record.run_attempt, record.name


def _facts(record: Record) -> dict[str, Any]:
    runner = next(iter(record.runners or ()), Runner())
    extra = record.benchmark.extra_info or {}
    gpu = runner.gpu_info or ""
    return {
        "hostname": runner.name,
        "cpu": runner.cpu_info,
        "cores": runner.cpu_count,
        "gpus": [{"model": gpu}] * (runner.gpu_count or 1) if gpu else [],
        # Without a runner, the device and its kind are what is known.
        "architecture": str(extra.get("arch") or ""),
        "versions": {
            name: one.version or one.sha or "" for name, one in (record.dependencies or {}).items()
        },
    }


def _entry(record: Record, machine: Machine) -> Entry:
    benchmark = _benchmark(record)
    metric = record.metric
    extra = metric.extra_info or {}
    if not metric.benchmark_values:
        reason = str(extra.get("failure") or "it has no values")
        return outcome(benchmark, machine, "failed", reason)
    smaller = extra.get("lower_is_better")
    if not isinstance(smaller, bool):
        smaller = not (is_rate(metric.name) or MANY & set(metric.name.lower().split("_")))
    point = _with_bounds(point_of_samples(metric.benchmark_values), extra)
    return figure(benchmark, metric.name, _unit(metric), machine, point, smaller)


def _with_bounds(point: Point, extra: Mapping[str, Any]) -> Point:
    """Returns the point of one value with the bounds that the record has of it."""
    bounds = [extra.get(name) for name in ("low", "high")]
    count = extra.get("n")
    if point.n != 1 or not isinstance(count, int):
        return point
    low, high = (float(bound) if isinstance(bound, (int, float)) else math.nan for bound in bounds)
    return Point(n=count, median=point.median, low=low, high=high)


def _benchmark(record: Record) -> Benchmark:
    model = record.model
    of = record.benchmark
    parameters = {
        "mode": of.mode,
        "dtype": of.dtype,
        **(of.extra_info or {}),
        "backend": model.backend if model else None,
        **((model.extra_info or {}) if model else {}),
        **(record.inputs or {}),
    }
    known = {name: value for name, value in parameters.items() if value not in (None, "", {}, [])}
    return Benchmark(
        f"{of.name}: {model.name}" if model else of.name,
        known,
        category=label((model.type or "") if model else ""),
    )


def _unit(metric: Metric) -> str:
    said = (metric.extra_info or {}).get("unit")
    if isinstance(said, str):
        return said
    found = IN_NAME.search(metric.name)
    return found[1] if found and found[1] in UNITS else ""


LOST = (
    *("time of the commit", "author", "subject", "command", "labels", "architecture", "platform"),
    *("memory", "python", "versions", "tolerances"),
)
"""Facts that are not read again of what was written: the format has no place for them."""


def write(export: Export) -> Written:
    """Returns the records of all figures and outcomes."""
    records = [_record_of(entry, run, export) for run in export.runs for entry in run.entries]
    return Written(records, export.left_out(has_remarks=True))


def _record_of(entry: Entry, run: Submission, export: Export) -> dict[str, Any]:
    name = export.names[entry.key.case]
    return {
        "timestamp": round(run.started),
        "schema_version": "v3",
        "name": run.id,
        "repo": export.project,
        "head_branch": run.branch,
        "head_sha": run.commit.sha,
        "runners": [_runner(run.environments[entry.key.environment])],
        "benchmark": {
            "name": export.project,
            "mode": "",
            "dtype": "",
            "extra_info": {"inputs": name.parameters} if name.parameters else {},
        },
        "model": {"name": name.called, "type": entry.facts.category, "origins": [run.source]},
        "metric": _metric(entry, export.remarks.get((run.id, entry.key), ())),
    }


def _metric(entry: Entry, remarks: Sequence[Remark]) -> dict[str, Any]:
    point = entry.point
    if point.status != OK:
        reason = f"{point.status}: {point.reason}"
        name = entry.key.metric or "status"
        return {"name": name, "benchmark_values": [], "extra_info": {"failure": reason}}
    extra: dict[str, Any] = {
        "unit": entry.facts.unit,
        "lower_is_better": entry.facts.lower_is_better,
        "n": point.n,
        "low": number_or_null(point.low),
        "high": number_or_null(point.high),
    }
    if remarks:
        extra["verdicts"] = [{**remark.values, "session": remark.session} for remark in remarks]
    return {
        "name": entry.key.metric,
        "benchmark_values": [*point.samples] or [point.median],
        "target_value": None,
        "extra_info": extra,
    }


def _runner(facts: Mapping[str, Any]) -> dict[str, Any]:
    gpus = [str(gpu.get("model", "")) for gpu in facts.get("gpus") or ()]
    cores = str(facts.get("cores"))
    return {
        "name": str(facts.get("hostname") or facts.get("machine") or ""),
        "type": "",
        "cpu_info": str(facts.get("cpu", "")),
        "cpu_count": int(cores) if cores.isdecimal() else 0,
        "gpu_info": gpus[0] if gpus else "",
        "gpu_count": len(gpus),
    }
