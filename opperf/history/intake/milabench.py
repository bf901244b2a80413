"""Runs of milabench: a folder of streams, one for each process of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from opperf.formats.documents import MEMORY, Known
from opperf.formats.figures import (
    UNKNOWN_MACHINE,
    Benchmark,
    Given,
    Intake,
    Machine,
    commit_of,
    figure,
    machine_of,
    outcome,
    point_of_samples,
    says_nothing,
    submit,
)
from opperf.formats.model import Entry, Point
from opperf.instruments.program_metrics import RATE
from opperf.suite_results.milabench.reading import DATA
from opperf.suite_results.scores import STREAM_MB
from opperf.suite_results.streams import is_stream
from opperf.suite_results.suite_run import Attempt, SuiteRun, load

SOURCE = "milabench"


def recognise(path: Path) -> bool:
    """Whether a folder is of streams, or a file is one."""
    if path.is_dir():
        return any(file.suffix == DATA for file in path.iterdir())
    return path.is_file() and is_stream(path)


def read(path: Path, given: Given) -> Intake:
    """Returns the run of a folder, at the commit that the user states: the commit in its streams is
    milabench's own. Raises `RunFileError`."""
    commit = commit_of(path, given)
    run = load([path])
    warnings = list(run.warnings)
    machine = _machine(run, given)
    if says_nothing(machine):
        warnings.append(UNKNOWN_MACHINE.format(path))
    started = run.runs[0].header.started
    submission = submit(
        SOURCE,
        [commit.sha, machine.key, started, sorted(bench.facts.name for bench in run.benches)],
        path,
        commit,
        given.branch,
        datetime.fromisoformat(started).timestamp(),
        _entries(run, machine),
        [machine],
        warnings,
        command=str(run.runs[0].header.options.get("command", "")),
    )
    return Intake((submission,), tuple(warnings))


def _machine(run: SuiteRun, given: Given) -> Machine:
    processes = [process for bench in run.benches for process in bench.processes]
    metas = [process.observed.meta for process in processes if process.observed]
    return machine_of_meta(next((meta for meta in metas if meta), {}), given)


def machine_of_meta(meta: Mapping[str, Any], given: Given) -> Machine:
    """Returns the machine that milabench's own description of it is of."""
    cpu, torch = (_mapping(meta.get(name)) for name in ("cpu", "pytorch"))
    gpus = _mapping(_mapping(meta.get("accelerators")).get("gpus"))
    models = [str(_mapping(gpu).get("product") or "") for gpu in gpus.values()]
    facts = {
        "cpu": str(cpu.get("brand") or ""),
        "cores": cpu.get("count"),
        "gpus": [{"model": model} for model in models],
        "versions": {"torch": str(torch["torch"])} if torch.get("torch") else {},
    }
    return machine_of(facts, given)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _entries(run: SuiteRun, machine: Machine) -> Iterator[Entry]:
    for bench in run.benches:
        benchmark = Benchmark(bench.facts.name, category=bench.facts.group)
        failed = next((attempt for attempt in bench.all if not attempt.worked), None)
        if failed is not None or not bench.all:
            reason = failed.reason if failed else "it did not run"
            yield outcome(benchmark, machine, "failed", reason)
            continue
        rate = _rate(bench.all)
        # Some benchmarks say no rates, and are none the worse for it.
        if rate.n:
            yield figure(benchmark, RATE.name, RATE.unit, machine, rate, RATE.lower_is_better)
        used = [
            sample.used_mb
            for process in bench.processes
            if process.observed
            for sample in process.observed.gpus
            if sample.used_mb
        ]
        if used:
            point = Point(n=len(used), median=max(used))
            yield figure(benchmark, "gpu_memory", Known(MEMORY, STREAM_MB), machine, point)


def _rate(attempts: tuple[Attempt, ...]) -> Point:
    """Returns the items that all processes handle in a second: of several, whose observations do
    not belong together, the sum of their medians."""
    single = [attempt.processes[0].rates for attempt in attempts if len(attempt.processes) == 1]
    if len(single) == len(attempts):
        return point_of_samples([rate for rates in single for rate in rates])
    return point_of_samples(
        [
            sum(process.result.rate.median for process in attempt.processes if process.result.rate)
            for attempt in attempts
        ]
    )
