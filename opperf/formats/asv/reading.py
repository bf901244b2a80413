"""Results of airspeed velocity: a folder with a folder for each machine, versions 1 and 2.

A benchmark whose `version` changed is another one, as asv has it. Its intervals are of 99 %, and
become those of 95 % of a normal distribution. A result that is null failed, one that is NaN was
skipped; the reason is in no file.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

from opperf.errors import RunFileError
from opperf.formats.documents import as_form, read_form, read_seconds, read_sha, wrong
from opperf.formats.figures import Benchmark, ForeignFile, Given, Intake, Machine, figure, outcome
from opperf.formats.model import Entry, Point, Submission
from opperf.model import Struct
from opperf.plurals import pluralize
from opperf.repository import Commit

SOURCE = "asv"

BENCHMARKS, MACHINE = "benchmarks.json", "machine.json"

COLUMNS = (
    *("result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"),
    *("stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"),
)
"""Of a benchmark's row, in the order that asv writes."""

VERSIONS = (1, 2)
"""Those of the layout of a file of results."""

MS = 1e-3
"""Seconds: times are in milliseconds."""

NARROWER = NormalDist().inv_cdf(0.975) / NormalDist().inv_cdf(0.995)
"""Width of an interval of 95 %, of one of 99 %."""

UNITS = {"time": "seconds", "timeraw": "seconds", "mem": "bytes", "peakmem": "bytes"}
"""By the beginning of a benchmark's name, which decides its type."""

METRICS = {"timeraw": "time", "memory": "memory", "mem": "memory", "peakmemory": "peak_memory"}
METRICS |= {"peakmem": "peak_memory"}
"""Names of the metrics of a type; others have the type's."""

MOST_FAILED = 10_000
"""Combinations of the parameters of a benchmark that failed whole, of which the file has no
results: those of real projects have some hundreds."""

MOST_ENTRIES = 200_000
"""Results of a file, with those that it has no value for: the largest files of real projects have
some ten thousand, and each takes a kilobyte."""

Numbers = list[float | None] | None


class Declared(Struct, frozen=True):
    """A benchmark, as the file of all declares it."""

    param_names: tuple[str, ...] = ()
    params: list[list[str]] = []
    type: str = ""
    unit: str = ""


class MachineFile(Struct, frozen=True):
    """The file of a machine: all are words."""

    machine: str
    os: str = ""
    arch: str = ""
    cpu: str = ""
    num_cpu: str | int = ""
    ram: str | int = ""


class Results(Struct, frozen=True):
    """A file of results."""

    commit_hash: str
    date: float
    """That of the commit."""
    params: dict[str, Any]
    results: dict[str, Any]
    env_name: str = ""
    python: str | None = None
    requirements: dict[str, str | None] = {}
    env_vars: dict[str, str] = {}
    result_columns: tuple[str, ...] = ()
    started_at: dict[str, float | None] = {}
    benchmark_version: dict[str, str | None] = {}
    """Of version 1, in which they are beside the results."""


class Row(Struct, frozen=True):
    """The results of a benchmark, an element for each combination of its parameters."""

    result: Numbers = None
    params: list[list[str]] | None = None
    version: str | None = None
    started_at: float | None = None
    stats_ci_99_a: Numbers = None
    stats_ci_99_b: Numbers = None
    stats_q_25: Numbers = None
    stats_q_75: Numbers = None
    stats_repeat: Numbers = None
    samples: list[list[float] | None] | None = None


class OldStatistics(Struct, frozen=True):
    """Statistics of version 1."""

    ci_99: tuple[float, float] = (-math.inf, math.inf)
    q_25: float | None = None
    q_75: float | None = None
    repeat: float | None = None
    n: float | None = None
    """The same, by an earlier version of asv."""


class OldRow(Struct, frozen=True):
    """The results of a benchmark of version 1."""

    result: list[float | None] | float | None
    params: list[list[str]] = []
    stats: list[OldStatistics | None] | None = None
    samples: list[list[float] | None] | None = None


def recognise_path(path: Path) -> bool:
    """Whether a folder is of asv's results, or of one machine's."""
    return path.is_dir() and bool(_machine_files(path))


def recognise_value(value: Any) -> bool:
    """Whether a file's content is a file of results."""
    return isinstance(value, dict) and {"commit_hash", "results", "params"} <= set(value)


def _machine_files(path: Path) -> list[Path]:
    return [file for file in (path / MACHINE, *path.glob(f"*/{MACHINE}")) if file.is_file()]


def read(path: Path, given: Given) -> Intake:
    """Returns the runs of a folder of results, of that of one machine, or of one file. Raises
    `RunFileError`."""
    if path.is_dir():
        folders = [file.parent for file in sorted(_machine_files(path))]
        files = [
            file
            for folder in folders
            for file in sorted(folder.glob("*.json"))
            if file.name not in (MACHINE, BENCHMARKS)
        ]
        if not files:
            raise RunFileError(f"{path} has no results of asv, MACHINE/COMMIT-ENVIRONMENT.json")
    else:
        files = [path]
    source = ForeignFile(SOURCE, path, given, [])
    declared: dict[Path, Mapping[str, Declared]] = {}
    submissions = []
    for file in files:
        folder = file.parent.parent
        if folder not in declared:
            declared[folder] = _read_benchmarks(folder, source.warnings)
        submissions.append(_read_file(source._replace(path=file), declared[folder]))
    return source.intake(submissions)


def _read_benchmarks(folder: Path, warnings: list[str]) -> Mapping[str, Declared]:
    path = folder / BENCHMARKS
    if not path.is_file():
        warnings.append(
            f"{path} is not there: units are those that asv gives to names as time_ and mem_"
        )
        return {}
    found = read_form(path, dict[str, Any])
    return {
        name: as_form(value, Declared, path, name)
        for name, value in found.items()
        if isinstance(value, dict)
    }


def _read_file(source: ForeignFile, declared: Mapping[str, Declared]) -> Submission:
    path = source.path
    value = read_form(path, dict[str, Any])
    version = value.get("version", 1)
    if version not in VERSIONS:
        raise wrong(
            path, "version", f"{version!r} is no version of asv's results that is known: 1 or 2"
        )
    results = as_form(value, Results, path)
    sha = read_sha(results.commit_hash, path, "commit_hash")
    committed = read_seconds(results.date, path, "date", MS)
    machine = source.machine(_facts(path, results))
    entries: list[Entry] = []
    begun: list[float] = []
    for name, row in _rows(results, version, path):
        if row.started_at is not None:
            begun.append(read_seconds(row.started_at, path, f"results.{name}.started_at", MS))
        entries += _entries(name, row, declared.get(name), machine, path)
        if len(entries) > MOST_ENTRIES:
            raise wrong(
                path, "results", f"more than {MOST_ENTRIES:,} results, with those that failed"
            )
    identity = [sha, results.params, results.env_name]
    commit, when = Commit(sha, time=committed), max(begun, default=committed)
    return source.run(identity, commit, when, entries, [machine])


def _facts(path: Path, results: Results) -> dict[str, Any]:
    beside = path.parent / MACHINE
    if beside.is_file():
        of = read_form(beside, MachineFile)
    else:
        of = as_form({"machine": path.parent.name, **results.params}, MachineFile, path, "params")
    return {
        "machine": of.machine,
        "cpu": of.cpu,
        "cores": of.num_cpu,
        "architecture": of.arch,
        "platform": of.os,
        "memory": of.ram,
        "python": results.python,
        "requirements": {name: version or "" for name, version in results.requirements.items()},
        "variables": results.env_vars,
    }


def _rows(results: Results, version: int, path: Path) -> Iterator[tuple[str, Row]]:
    for name, value in results.results.items():
        at = f"results.{name}"
        if version == 1:
            yield name, _of_version_1(name, value, results, path, at)
            continue
        columns = as_form(value, list[Any], path, at)
        named = dict(zip(results.result_columns, columns, strict=False))
        yield name, as_form(named, Row, path, at)


def _of_version_1(name: str, value: Any, results: Results, path: Path, at: str) -> Row:
    given = value if isinstance(value, dict) else {"result": value}
    row = as_form(given, OldRow, path, at)
    values = row.result if isinstance(row.result, list) else [row.result]
    stats = row.stats or [None] * len(values)
    return Row(
        result=values,
        params=row.params,
        version=results.benchmark_version.get(name),
        started_at=results.started_at.get(name),
        stats_ci_99_a=[own.ci_99[0] if own else None for own in stats],
        stats_ci_99_b=[own.ci_99[1] if own else None for own in stats],
        stats_q_25=[own.q_25 if own else None for own in stats],
        stats_q_75=[own.q_75 if own else None for own in stats],
        stats_repeat=[(own.repeat or own.n) if own else None for own in stats],
        samples=row.samples,
    )


def _entries(
    name: str, row: Row, declared: Declared | None, machine: Machine, path: Path
) -> Iterator[Entry]:
    prefix = name.rpartition(".")[2].partition("_")[0].lower()
    known = declared or Declared(type=prefix, unit=UNITS.get(prefix, ""))
    # Of a benchmark that failed whole, version 1 has no parameters.
    parameters = row.params or (known.params if row.result in (None, [None]) else [])
    # Counted before they are made: a few lists in a file have any number of them.
    count = math.prod(map(len, parameters))
    values: Sequence[float | None] = row.result or []
    has_failed = values in ([], [None])
    most = MOST_FAILED if has_failed else MOST_ENTRIES
    if count > most:
        which = " without a result" if has_failed else ""
        raise wrong(
            path,
            f"results.{name}.params",
            f"{count:,} combinations of parameters{which}; at most {most:,} are read",
        )
    if has_failed:
        values = [None] * count
    if len(values) != count:
        raise wrong(
            path,
            f"results.{name}.result",
            f"{pluralize(len(values), 'value')}, and "
            f"{pluralize(count, 'combination')} of parameters",
        )
    combinations = itertools.product(*parameters)
    for place, (words, value) in enumerate(zip(combinations, values, strict=True)):
        names = [*known.param_names, *(f"param{at + 1}" for at in range(len(words)))]
        benchmark = Benchmark(name, dict(zip(names, words, strict=False)), row.version or "")
        if value is None:
            yield outcome(benchmark, machine, "failed", "asv has no result of it: it failed")
        elif math.isnan(value):
            yield outcome(benchmark, machine, "skipped", "asv skipped it: its result is NaN")
        else:
            metric = METRICS.get(known.type, known.type or "value")
            yield figure(benchmark, metric, known.unit, machine, _point(row, place, value))


def _point(row: Row, place: int, value: float) -> Point:
    def at(column: Sequence[Any] | None) -> Any:
        return column[place] if column is not None and place < len(column) else None

    def number(column: Numbers) -> float:
        found = at(column)
        return math.nan if found is None else float(found)

    samples = tuple(at(row.samples) or ())
    repeat = number(row.stats_repeat)
    return Point(
        n=int(repeat) if math.isfinite(repeat) else len(samples) or 1,
        median=value,
        low=value + (number(row.stats_ci_99_a) - value) * NARROWER,
        high=value + (number(row.stats_ci_99_b) - value) * NARROWER,
        q25=number(row.stats_q_25),
        q75=number(row.stats_q_75),
        samples=samples,
    )
