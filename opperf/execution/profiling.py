"""An executor around another one, which also profiles the cases' calls under other programs: the
calls are made once more in a process that Nsight, perf or another program runs, with those of the
cases that follow. What the program finds becomes metrics of the record, beside those that were
measured."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from opperf.errors import UsageError, WorkerError
from opperf.execution.executor import Executor, Task
from opperf.execution.workers import interpreter_of
from opperf.instruments.wrapped.perf import SPANS
from opperf.instruments.wrapped.program import Findings, ProcessFiles, WrappingProgram, written
from opperf.instruments.wrapped.programs import check_program, program_of
from opperf.machine.gpus import VISIBLE_DEVICES
from opperf.machine.pinning import Pinning
from opperf.metrics import check_instruments, process_settings
from opperf.model import (
    DEFAULTS,
    Case,
    CaseLine,
    Environment,
    FileTarget,
    Note,
    NoteCode,
    Pass,
    Record,
    Status,
    Wrapper,
    Wrapping,
)
from opperf.sources.varying import process_key
from opperf.worker.protocol import Batch
from opperf.worker.wrapped_process import Ended, WrappedProcess

ONLY_GPU = "gpu(0)"
"""The device of a process that sees one GPU."""


@dataclass(frozen=True)
class Profile:
    """Findings of one program for a case, and the file that it wrote."""

    program: str
    findings: Findings
    file: str = ""


class ProfilingExecutor:
    """Measures by another executor, and profiles each case, once for every round."""

    lanes = 1

    def __init__(
        self,
        measuring: Executor,
        wrapping: Wrapping,
        task: Task,
        pinning: Pinning,
        folder: Path,
        release: Callable[[], object],
    ) -> None:
        self._measuring, self._wrapping, self._release = measuring, wrapping, release
        self._task, self._pinning, self._folder = task, pinning, folder
        self._visits = dict(enumerate(task.cases))
        """Planned visits whose cases are not profiled yet, in order."""
        self._found: dict[str, list[Profile]] = {}
        self._empty: dict[tuple[str, str], dict[str, float]] = {}
        self._process: WrappedProcess | None = None
        self._killed = False

    def environment(self, case: Case) -> Environment:
        return self._measuring.environment(case)

    def kill(self) -> None:
        self._killed = True
        self._measuring.kill()
        if self._process is not None:
            self._process.kill()

    def measure(self, case: Case) -> Record:
        """Returns the record of a case, with what the programs found of it; a second measurement
        that was not planned has none of that."""
        record = self._measuring.measure(case)
        is_due = case.id not in self._found and self._take(case.id)
        if is_due and record.status is Status.OK:
            self._profile(case)
        for profile in self._found.pop(case.id, ()) if record.status is Status.OK else ():
            record = with_profile(record, profile)
        return record

    def _take(self, id: str) -> bool:
        number = next((number for number, case in self._visits.items() if case.id == id), None)
        return number is not None and bool(self._visits.pop(number))

    def _profile(self, case: Case) -> None:
        """Profiles a case, and with it those of the next visits with the same process settings."""
        key = process_key(case.target.framework, case.settings)
        batch = {case.id: case}
        for number, other in list(self._visits.items()):
            if len(batch) == self._wrapping.batch_size:
                break
            is_new = other.id not in batch and other.id not in self._found
            if is_new and process_key(other.target.framework, other.settings) == key:
                batch[other.id] = self._visits.pop(number)
        if not case.settings.device.startswith("cpu"):
            # A framework keeps a GPU's memory for later cases; JAX takes three quarters of it.
            self._release()
        for wrapper in self._wrapping.wrappers:
            for group in _groups(program_of(wrapper), list(batch.values())):
                for id, profile in self._run(wrapper, *group).items():
                    self._found.setdefault(id, []).append(profile)

    def _run(
        self, wrapper: Wrapper, cases: Sequence[Case], passes: tuple[Pass, ...]
    ) -> dict[str, Profile]:
        """Profiles cases, in as many processes as it takes: one that ends its process is noted, and
        the rest have a new one. Raises `WorkerError` if a process does not come to any case."""
        program, left = program_of(wrapper), list(cases)
        found: dict[str, Profile] = {}
        while left:
            with tempfile.TemporaryDirectory(prefix="opperf-profile-") as name:
                folder = Path(name)
                files = _files_in(folder, self._next_report(wrapper), program.is_controlled)
                empty = self._read_empty(wrapper, left[0], folder)
                ended = self._start(wrapper, left, passes, files, folder)
                made = {id: line.passes for id, line in ended.made.items()}
                findings = program.read(files, made, empty)
                kept = program.kept(files)
            before = len(left)
            for id, line in ended.made.items():
                own = findings.get(id, Findings())
                # What the program loses of the others at such an end is profiled again.
                if ended.ended_by and program.metrics and line.passes and not own.samples:
                    continue
                for name, reason in line.refusals.items():
                    text = f"the {name} pass is not profiled by {wrapper.name}: {reason}"
                    own.notes.append(Note("", NoteCode.NOT_PROFILED, text))
                found[id] = Profile(wrapper.name, own, kept[0].name if kept else "")
            if ended.ended_by:
                text = f"not profiled by {wrapper.name}: {ended.reason}"
                note = Note("", NoteCode.NOT_PROFILED, text)
                found[ended.ended_by] = Profile(wrapper.name, Findings(notes=[note]))
            left = [case for case in left if case.id not in found]
            if len(left) == before:
                raise WorkerError(
                    f"{wrapper.words[0]} ended before it profiled a case: {ended.reason}; finish "
                    "the run with --resume, after fixing that"
                )
        return found

    def _start(
        self,
        wrapper: Wrapper,
        cases: Sequence[Case],
        passes: tuple[Pass, ...],
        files: ProcessFiles,
        folder: Path,
        empty_spans: int = 0,
    ) -> Ended:
        """Runs one process with the calls of cases, or of the first one's framework alone if only
        spans without a call are asked for."""
        first, program = cases[0], program_of(wrapper)
        lines = () if empty_spans else [CaseLine(case.id, self._visible(case)) for case in cases]
        batch = Batch(
            cases=tuple(lines),
            passes=passes,
            warmup=wrapper.warmup,
            runs=wrapper.runs,
            lines=str(folder / "lines.jsonl"),
            control=files.control and (str(files.control[0]), str(files.control[1])),
            needs_ranges=program.needs_ranges,
            empty_spans=empty_spans,
        )
        # Not in a process that runs under Valgrind.
        settings = msgspec.structs.replace(first.settings, profiler=DEFAULTS["profiler"])
        python, device = settings.python, self._wrapping.cuda_device
        found = interpreter_of(self._task.interpreters, first.target.framework, python)
        self._process = process = WrappedProcess(
            first.target.framework,
            settings,
            found.path if found else "",
            self._pinning.choose(self._pinning.core_count(process_settings(settings), os.environ)),
            {} if device is None else {VISIBLE_DEVICES: str(device)},
        )
        if self._killed:
            process.kill()
        try:
            return process.run(wrapper, program, batch, files, folder)
        finally:
            self._process = None

    def _read_empty(self, wrapper: Wrapper, case: Case, folder: Path) -> dict[str, float]:
        """Returns what a process counts without a call, once for each kind of process."""
        program = program_of(wrapper)
        if not program.counts_process:
            return {}
        key = wrapper.name, process_key(case.target.framework, case.settings)
        if key not in self._empty:
            apart = folder / "empty"
            apart.mkdir()
            files = _files_in(apart, apart / "report", is_controlled=True)
            ended = self._start(wrapper, [case], (), files, apart, SPANS)
            if ended.reason:
                raise WorkerError(f"{wrapper.words[0]} ended without a count: {ended.reason}")
            self._empty[key] = program.read_empty(files, SPANS)
        return self._empty[key]

    def _next_report(self, wrapper: Wrapper) -> Path:
        stem = f"opperf-{wrapper.name.replace(' ', '-')}"
        reports = (self._folder / f"{stem}-{number}" for number in itertools.count(1))
        return next(report for report in reports if not written(report))

    def _visible(self, case: Case) -> Case:
        if self._wrapping.cuda_device is None or not case.settings.device.startswith("gpu"):
            return case
        settings = msgspec.structs.replace(case.settings, device=ONLY_GPU)
        return msgspec.structs.replace(case, settings=settings)


def _files_in(folder: Path, report: Path, is_controlled: bool) -> ProcessFiles:
    return ProcessFiles(
        report=report,
        log=folder / "log.txt",
        table=folder / "table.csv",
        control=(folder / "commands", folder / "answers") if is_controlled else None,
    )


def _groups(
    program: WrappingProgram, cases: Sequence[Case]
) -> list[tuple[list[Case], tuple[Pass, ...]]]:
    if program.counts_process:
        return [([case], (name,)) for case in cases for name in case.passes]
    return [(list(cases), ("forward", "backward"))]


def with_profile(record: Record, profile: Profile) -> Record:
    """Returns the record with what a program found of its case."""
    # It imports NumPy, which the manager of a run without programs does not need.
    from opperf.instruments.profilers.summary import summarise

    findings = profile.findings
    summaries = {
        name: summarise(values, findings.units[name]) for name, values in findings.samples.items()
    }
    files = {profile.program: profile.file} if profile.file else {}
    return msgspec.structs.replace(
        record,
        summaries=record.summaries | summaries,
        samples=record.samples | findings.samples,
        notes=(*record.notes, *findings.notes),
        profiles=record.profiles | files,
    )


def check_programs(cases: Sequence[Case], wrapping: Wrapping | None, is_local: bool) -> None:
    """Raises `UsageError` if this machine lacks what the cases are measured or profiled with, or if
    another executor than this machine's is to measure cases that are profiled."""
    check_instruments([case.settings for case in cases])
    for case in cases:
        if case.settings.verify == "reference" and isinstance(case.target, FileTarget):
            raise UsageError(
                f"--verify reference compares with the canonical operation of an operator, and "
                f"{case.label} is a function of a file, of none; use --verify"
            )
    if wrapping is None or not cases:
        return
    if not is_local:
        raise UsageError(
            "cases are profiled on this machine only; omit --executor, or the option of the "
            "profiling program"
        )
    devices = list(dict.fromkeys(case.settings.device for case in cases))
    for wrapper in wrapping.wrappers:
        check_program(wrapper, devices)


@contextmanager
def profiling(
    executor: Executor,
    wrapping: Wrapping | None,
    task: Task,
    pinning: Pinning,
    folder: Path,
    release: Callable[[], object],
) -> Iterator[Executor]:
    """Returns a context with an executor that profiles too; the given one without programs.
    `folder` keeps what the programs write, and `release` ends the processes that have measured."""
    if wrapping is None:
        yield executor
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield ProfilingExecutor(executor, wrapping, task, pinning, folder, release)
    finally:
        # Not every program leaves a file there.
        with suppress(OSError):
            folder.rmdir()
