"""Executes a plan: measures every case, and writes each record to the run file as it is made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import msgspec

from opperf.errors import OutputError, RunFileError
from opperf.folders import FOLDER, cache_folder, unfinished_folder
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    Closing,
    Environment,
    Header,
    Interpreter,
    Record,
    Run,
    Status,
)
from opperf.model.runs import AXES, SELECTION
from opperf.results.kept import new_id
from opperf.results.output import STDOUT
from opperf.results.runfile import RunWriter, read_run
from opperf.results.unwritable import reason
from opperf.runner.contended import find_contended, settle_contended
from opperf.runner.lanes import Lanes
from opperf.runner.progress import Progress
from opperf.runner.resuming import Environments
from opperf.runner.rounds import merge, plan_visits, without_memory
from opperf.runner.stalls import find_suspects, settle
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes


class Measuring(Protocol):
    """Measures cases in workers."""

    def measure(self, case: Case) -> Record: ...

    def environment(self, case: Case) -> Environment:
        """Returns the environment of the worker that measures the case."""
        ...


class CutShortError(OutputError):
    """The run file could not be written to any more. Its lines are whole: the run can be
    resumed."""


def run_cases(
    cases: Iterable[Case],
    measure: Callable[[Case], Record],
    keep: Callable[[Record], None],
    progress: Progress,
) -> None:
    """Measures the cases in order; `keep` stores each record before the next case begins."""
    with progress:
        for case in cases:
            progress.begin(case)
            record = measure(case)
            keep(record)
            progress.end(record)


def run_side_by_side(
    cases: Iterable[Case],
    measure: Callable[[Case], Record],
    keep: Callable[[Record], None],
    progress: Progress,
    lanes: Lanes,
) -> None:
    """Measures the cases in the lanes' threads, begun in order; `keep` stores each record on the
    calling thread as soon as it is there."""
    running: set[Future[Record]] = set()

    def take() -> None:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        running.difference_update(done)
        # An error of one loses no other's record.
        for one in sorted(done, key=lambda one: one.exception() is not None):
            record = one.result()
            keep(record)
            progress.end(record)

    with progress, ThreadPoolExecutor(lanes.number) as threads:
        try:
            for case in cases:
                progress.begin(case)
                running.add(threads.submit(measure, case))
                while len(running) == lanes.number:
                    take()
            while running:
                take()
        except BaseException:
            # The threads then end, as their workers do.
            lanes.kill()
            raise


def utc_now() -> str:
    """Returns the current time in ISO 8601, UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def make_header(
    plan: Plan,
    selection: Selection,
    options: Mapping[str, Any],
    axes: Axes | None = None,
    labels: Mapping[str, str] | None = None,
    interpreters: Sequence[Interpreter] = (),
) -> Header:
    """Returns the first line of a run file."""
    return Header(
        schema=SCHEMA_VERSION,
        started=utc_now(),
        options={
            **options,
            SELECTION: msgspec.to_builtins(selection),
            AXES: msgspec.to_builtins(axes or {}),
        },
        excluded=plan.excluded,
        labels=dict(labels or {}),
        interpreters=tuple(interpreters),
        id=new_id(),
    )


def read_selection(run: Run) -> tuple[Selection, Axes]:
    """Returns the selection and the axes of a run file. Raises `RunFileError` if it has none."""
    options = run.header.options
    try:
        return (
            msgspec.convert(options.get(SELECTION), Selection),
            msgspec.convert(options.get(AXES, {}), Axes),
        )
    except msgspec.ValidationError as error:
        raise RunFileError(
            f"the run file has no valid selection: {error}; replace it with --overwrite"
        ) from error


def run_file_path(output: Path, output_format: str) -> Path:
    """Returns the path of the run file during a run whose output the user named: the output itself
    if that is a run file, else a file in the user's cache."""
    named = output_format == "jsonl" and output != STDOUT
    return output if named else cached_path(output)


def cached_path(output: Path) -> Path:
    """Returns the path of a run file in the user's cache, named after the output's path; for
    standard output after the current folder. `keeping` adds an id to it where the user named no
    output."""
    digest = hashlib.sha256(str(output.resolve()).encode()).hexdigest()[:12]
    name = "stdout" if output == STDOUT else output.name
    return unfinished_folder() / f"{name}-{digest}.jsonl"


def make_folder(run_file: Path) -> None:
    """Creates the folder of a run file. Raises `OutputError` if that fails."""
    try:
        run_file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{run_file.parent}, the folder of unfinished runs, cannot be created: "
            f"{reason(error)}; set {FOLDER} to another cache folder, or use -f jsonl"
        ) from error


def find_pending(
    run: Run, retry: Container[Status] = (), rounds: int = 1, seed: int = 0
) -> tuple[Case, ...]:
    """Returns the cases that remain to be measured, in order: those without a record or with one of
    a status to retry, and those with fewer rounds than `rounds`."""
    earlier = {record.id: record for record in run.records}
    return plan_visits(run.cases, rounds, seed, earlier, retry)


def _create(path: Path, head: Header, cases: Iterable[Case]) -> RunWriter:
    try:
        return RunWriter.create(path, head, cases, overwrite=True)
    except OutputError as error:
        if not path.is_relative_to(cache_folder()):
            raise
        raise OutputError(f"{error}; or set {FOLDER} to another cache folder") from error


@contextmanager
def open_run_file(path: Path, head: Header | None, planned: Iterable[Case]) -> Iterator[RunWriter]:
    """Opens the run file: a new one with this header and these cases, or without a header the
    existing one."""
    if head is None:
        writer = RunWriter.resume(path)
    else:
        make_folder(path)
        writer = _create(path, head, planned)
    with writer:
        yield writer


def execute(
    path: Path,
    head: Header | None,
    planned: Iterable[Case],
    remaining: Iterable[Case],
    workers: Measuring,
    progress: Progress,
    elapsed: Callable[[], float],
) -> Run:
    """Measures the `remaining` cases, writes their records to the run file, closes it, and returns
    its content. A case that occurs several times has one record of all its rounds. One whose time
    is absurd beside the others' is measured again at the end, and one whose threads waited for
    cores with one thread.

    `head` and the `planned` cases begin a new file; without a head the file at `path` is continued.
    `elapsed` returns the seconds since the run's start.

    Raises `OutputError` if the file cannot be created, `CutShortError` if it cannot be written to
    later, and `RunFileError` if a run is resumed in another environment.
    """
    with open_run_file(path, head, planned) as writer:
        try:
            earlier, _ = read_run(path)
            records = {record.id: record for record in earlier.records}
            environments, lock = Environments(earlier), Lock()

            def measure(case: Case) -> Record:
                if case.id in contended:
                    # A process of other threads, of which no record stays.
                    return workers.measure(case)
                now = workers.environment(case)
                with lock:
                    id = writer.environment(environments.check(case, now))
                return msgspec.structs.replace(workers.measure(case), environment=id)

            cases = tuple(remaining)
            suspects: dict[str, Record] = {}
            contended: dict[str, list[str]] = {}
            """Ids of records by those of the cases that measure them with one thread."""

            def visits() -> Iterator[Case]:
                yield from cases
                # A run whose cases are all measured is only closed.
                if cases:
                    found = find_suspects(records.values(), len(records))
                    suspects.update({record.id: record for record in found})
                    progress.extend(len(found))
                    yield from (without_memory(record.case) for record in found)
                    unsettled = [id for id, one in suspects.items() if records[id] is one]
                    alone = find_contended(records.values(), unsettled)
                    contended.update({one.case.id: one.ids for one in alone})
                    progress.extend(len(alone))
                    yield from (one.case for one in alone)

            def keep(record: Record) -> None:
                first = suspects.get(record.id)
                if record.id in contended:
                    kept = [settle_contended(records[id], record) for id in contended[record.id]]
                else:
                    one = records.get(record.id)
                    kept = [settle(first, record) if first else merge(one, record)]
                for one in kept:
                    if one is records.get(one.id):
                        continue  # A second measurement that changed nothing.
                    records[one.id] = one
                    with lock:
                        writer.record(one)

            if isinstance(workers, Lanes):
                run_side_by_side(visits(), measure, keep, progress, workers)
            else:
                run_cases(visits(), measure, keep, progress)
            run, _ = read_run(path)
            counts = Counter(record.status.value for record in run.records)
            writer.close_run(Closing(finished=utc_now(), elapsed_s=elapsed(), counts=dict(counts)))
        except OutputError as error:
            raise CutShortError(str(error)) from error
    run, _ = read_run(path)
    return run
