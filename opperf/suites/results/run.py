"""Runs of a suite as reports need them: a bench, its attempts, the processes of each, and what each
process said in its stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from opperf.errors import RunFileError, UsageError, unknown
from opperf.formats.milabench.figures import Figures, ProcessStream, figures_of
from opperf.formats.milabench.reading import read_folder
from opperf.formats.milabench.streams import Observed, Stream, is_stream, observe, read_stream
from opperf.machine.environment import incomparable_facts
from opperf.model import (
    BenchFacts,
    Case,
    Environment,
    NoteCode,
    ProcessResult,
    Record,
    Run,
    ScriptTarget,
    Status,
)
from opperf.plurals import pluralize
from opperf.results.benches import OWN, benches_of, with_environment
from opperf.results.kept import streams_of
from opperf.results.runfile import is_run_file, read_visits

WITH = " + "
"""Between the label of a bench's own environment and what `--with` adds to it."""

MACHINE = frozenset({"cpu", "gpus", "cpus"})
"""Facts of a machine, whatever it measures."""


def check_same_machine(paths: Sequence[Path], runs: Sequence[Run]) -> None:
    """Raises `UsageError` for runs that are no repeats of the first one, as they are of
    another machine or build."""
    known = [(path, run) for path, run in zip(paths, runs, strict=True) if run.environments]
    for path, run in known[1:]:
        first_path, first = known[0]
        differing = next(filter(None, _differing(first, run)), None)
        if differing:
            raise UsageError(
                f"{path} and {first_path} are of different machines or builds, by "
                f"{', '.join(differing)}, and no repeats of one; `opperf suite compare` compares "
                "them"
            )


def _differing(first: Run, other: Run) -> Iterator[Sequence[str]]:
    """Yields the facts by which each environment of a run differs from those of the first."""
    environments = list(first.environments.values())
    for environment in other.environments.values():
        same = [known for known in environments if known.framework == environment.framework]
        differences = [incomparable_facts(known, environment) for known in same]
        if differences:
            yield min(differences, key=len)
        else:
            differing = incomparable_facts(environments[0], environment)
            yield [fact for fact in differing if fact in MACHINE]


@dataclass(frozen=True)
class Process:
    """A process of an attempt."""

    result: ProcessResult
    stream: Stream | None
    """None where there is no file of it any more."""
    observed: Observed | None

    @property
    def rates(self) -> tuple[float, ...]:
        """Rates after the warm-up, in items per second; empty without the stream."""
        counted = self.result.rate.n if self.result.rate else 0
        begin = self.result.warmup
        return self.observed.rates[begin : begin + counted] if self.observed else ()

    @property
    def losses(self) -> tuple[float, ...]:
        return self.observed.losses if self.observed else self.result.losses

    @property
    def count(self) -> int:
        """Number of observations, those of the warm-up too."""
        counted = self.result.warmup + (self.result.rate.n if self.result.rate else 0)
        if self.observed is None:
            return counted
        return max(counted, len(self.observed.rates), self.observed.progress)


@dataclass(frozen=True)
class Attempt:
    """One execution of a case: of a program, all its processes."""

    record: Record
    processes: tuple[Process, ...]
    missing: int = 0
    """Number of processes that were planned and of which nothing is known."""

    @property
    def worked(self) -> bool:
        return not self.record.why_without_figures and not self.missing

    @property
    def reason(self) -> str:
        """Why it did not work."""
        if self.record.status is Status.OK and self.missing:
            planned = self.missing + len(self.processes)
            return f"{self.missing} of {pluralize(planned, 'process')} missing"
        status, reason = self.record.status.value, self.record.reason
        return reason if reason.startswith(status) else self.record.why_without_figures

    @property
    def is_program(self) -> bool:
        return isinstance(self.record.case.target, ScriptTarget)


@dataclass(frozen=True)
class BenchResults:
    """A bench with all that was measured of it."""

    facts: BenchFacts
    attempts: Mapping[str, tuple[Attempt, ...]]
    """By the key that cases of several runs are joined by."""

    @property
    def all(self) -> tuple[Attempt, ...]:
        return tuple(attempt for found in self.attempts.values() for attempt in found)

    @property
    def processes(self) -> tuple[Process, ...]:
        return tuple(process for attempt in self.all for process in attempt.processes)

    @property
    def was_to_run(self) -> bool:
        facts = self.facts
        # One that is not enabled runs if it is named.
        return bool(facts.cases) or (facts.enabled and (not facts.why_not or facts.is_broken))

    @property
    def records(self) -> list[Record]:
        """The records, each once, of which one of several rounds has several attempts."""
        return list({id(attempt.record): attempt.record for attempt in self.all}.values())

    @property
    def failed_rounds(self) -> list[str]:
        """A sentence on each round of a record that failed, where others worked."""
        return [
            note.message
            for record in self.records
            for note in record.notes
            if note.code == NoteCode.ROUND_FAILED
        ]


@dataclass(frozen=True)
class SuiteRun:
    """One or several runs of a suite on one machine."""

    name: str
    runs: tuple[Run, ...]
    benches: tuple[BenchResults, ...]
    warnings: tuple[str, ...]
    is_milabench: bool

    @property
    def environments(self) -> dict[str, Environment]:
        return {id: one for run in self.runs for id, one in run.environments.items()}

    def milabench_figures(self) -> Figures:
        """Returns milabench's own figures of it."""
        benches = (
            (
                bench.facts,
                [
                    ProcessStream(process.stream.path, process.observed, process.result.device)
                    for process in bench.processes
                    if process.observed and process.stream
                ],
            )
            for bench in self.benches
        )
        return figures_of(benches, self.is_milabench)


def load(paths: Sequence[Path]) -> SuiteRun:
    """Returns the runs of run files, of folders in milabench's layout, or of single streams, as
    repeats of one. Raises `RunFileError` for a file that is none of these or has no suite, and
    `UsageError` for runs of different machines."""
    read = [_read(path) for path in paths]
    runs = tuple(part.run for part in read)
    check_same_machine(paths, runs)
    facts: dict[str, BenchFacts] = {}
    attempts: dict[str, dict[str, list[Attempt]]] = {}
    for part in read:
        benches = benches_of(part.run)
        by_case: dict[str, list[BenchFacts]] = {}
        for bench in benches:
            known = facts.get(bench.name)
            facts[bench.name] = _joined(known, bench) if known else bench
            attempts.setdefault(bench.name, {})
            # Equal cases of several benches are measured once.
            for id in bench.cases:
                by_case.setdefault(id, []).append(bench)
        for record in part.run.records:
            for bench in by_case.get(record.id, ()):
                found = attempts[bench.name].setdefault(join_key(record.case), [])
                found += _attempts(record, part, bench.processes)
    return SuiteRun(
        name=", ".join(map(str, paths)),
        runs=runs,
        benches=tuple(
            BenchResults(bench, {id: tuple(found) for id, found in attempts[name].items()})
            for name, bench in facts.items()
        ),
        warnings=_warnings(read, attempts),
        is_milabench=all(part.is_milabench for part in read),
    )


def in_environment(run: SuiteRun, label: str) -> SuiteRun:
    """Returns the benches of a run that were run in an environment, under their own names. Raises
    `UsageError` if there are none."""
    labels = list(dict.fromkeys(bench.facts.env or OWN for bench in run.benches))
    # What was added to the own environments of all benches chooses all of them.
    chosen = {known for known in labels if label in (known, known.rpartition(WITH)[2])}
    if not chosen:
        added = (known.rpartition(WITH)[2] for known in labels)
        raise unknown("environment", label, dict.fromkeys((*labels, *added)), run.name)
    benches = tuple(
        BenchResults(
            msgspec.structs.replace(
                bench.facts,
                name=bench.facts.name.removesuffix(with_environment("", bench.facts.env)),
            ),
            bench.attempts,
        )
        for bench in run.benches
        if (bench.facts.env or OWN) in chosen
    )
    return replace(run, name=with_environment(run.name, label), benches=benches)


def join_key(case: Case) -> str:
    """Returns the key by which cases of several runs are joined: their id without what may differ
    between repeats, machines and environments, the number of GPUs or cores that each have a
    process among it."""
    target = case.target
    if isinstance(target, ScriptTarget):
        # How often the machine is sampled is no matter, and a point is in its words.
        target = msgspec.structs.replace(
            target,
            processes=target.processes if target.method == "njobs" else 1,
            interval_s=1.0,
            point={},
        )
    settings = msgspec.structs.replace(case.settings, python="")
    return msgspec.structs.replace(case, repeat=0, target=target, settings=settings).id


@dataclass(frozen=True)
class _Read:
    """A run as it was read."""

    run: Run
    path: Path
    stream: Callable[[str], Stream | None]
    """Returns the stream of a name; None if it is not there."""
    warnings: tuple[str, ...] = ()
    is_milabench: bool = False


def _read(path: Path) -> _Read:
    if path.is_dir() or (path.is_file() and not is_run_file(path) and is_stream(path)):
        found = read_folder(path)
        return _Read(found.run, path, found.streams.get, found.warnings, is_milabench=True)
    run, warnings = read_visits(path)
    if not run.header.benches:
        raise RunFileError(
            f"{path} is a run of no suite; `opperf suite run FILE.yaml -o NAME.jsonl` makes one"
        )
    folder = streams_of(path)

    def read(name: str) -> Stream | None:
        file = folder / name
        return read_stream(file) if file.is_file() else None

    return _Read(run, path, read, (*warnings, *_without_record(run, folder)))


def _without_record(run: Run, folder: Path) -> Iterable[str]:
    """Yields a sentence on each stream that no record names: of a program that ran when the run was
    ended, or was measured again."""
    known = {process.stream for record in run.records for process in record.processes}
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        if path.name not in known:
            yield f"{path}: no record is of this stream; the run was ended meanwhile, or resumed"


def _joined(first: BenchFacts, other: BenchFacts) -> BenchFacts:
    """Returns the facts of a bench of several runs: it was to be run if one was to run it."""
    wanted = other if first.why_not or not first.enabled else first
    cases = tuple(dict.fromkeys((*first.cases, *other.cases)))
    return msgspec.structs.replace(wanted, cases=cases)


def _attempts(record: Record, read: _Read, planned: int) -> Iterator[Attempt]:
    target = record.case.target
    # A record of opperf says itself whether all of its processes worked; a folder has what it has.
    counts = read.is_milabench and isinstance(target, ScriptTarget) and target.method == "njobs"
    rounds: list[list[Process]] = [[]]
    for result in record.processes:
        known = {(process.result.node, process.result.name) for process in rounds[-1]}
        if (result.node, result.name) in known:
            rounds.append([])
        rounds[-1].append(_process(result, read))
    for processes in rounds:
        missing = max(0, planned - len(processes)) if counts else 0
        yield Attempt(record, tuple(processes), missing)


def _process(result: ProcessResult, read: _Read) -> Process:
    stream = read.stream(result.stream) if result.stream else None
    return Process(result, stream, observe(stream.events) if stream else None)


def _warnings(
    read: Iterable[_Read], attempts: Mapping[str, Mapping[str, Sequence[Attempt]]]
) -> tuple[str, ...]:
    own = [warning for part in read for warning in part.warnings]
    processes = [
        process
        for cases in attempts.values()
        for found in cases.values()
        for attempt in found
        for process in attempt.processes
    ]
    faults = [fault for process in processes if process.stream for fault in process.stream.faults]
    missing = sorted({process.result.stream for process in processes if not process.stream} - {""})
    gone = [f"the stream {name} is not there; its record is used" for name in missing]
    return tuple(dict.fromkeys((*own, *faults, *gone)))
