"""A run from the plan to the file: every case measured, every record kept as it is made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

import msgspec

from opperf.errors import OutputError, RunFileError
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
from opperf.results.runfile import RunWriter, read_run
from opperf.results.unwritable import reason
from opperf.runner.cache import FOLDER, cache_folder
from opperf.runner.progress import Progress
from opperf.runner.resuming import Environments
from opperf.runner.rounds import merge, plan_visits
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

SELECTION, AXES = "selection", "axes"
"""Keys among a header's options: what was selected, and the settings' values that multiply."""


class Measuring(Protocol):
    """Measures cases, in processes of their own."""

    def measure(self, case: Case) -> Record: ...

    def environment(self, case: Case) -> Environment:
        """The environment of the process that measures the case."""
        ...


class CutShortError(OutputError):
    """The run file takes no more. The lines it has are whole, and the run can be gone on with."""


def run_cases(
    cases: Iterable[Case],
    measure: Callable[[Case], Record],
    keep: Callable[[Record], None],
    progress: Progress,
) -> None:
    """Measure the cases in order; each record is kept before the next case begins."""
    with progress:
        for case in cases:
            progress.begin(case)
            record = measure(case)
            keep(record)
            progress.end(record)


def utc_now() -> str:
    """This moment, ISO 8601, UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def make_header(
    plan: Plan,
    selection: Selection,
    options: Mapping[str, Any],
    axes: Axes | None = None,
    labels: Mapping[str, str] | None = None,
    interpreters: Sequence[Interpreter] = (),
) -> Header:
    """The first line of a run file."""
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
    )


def read_selection(run: Run) -> tuple[Selection, Axes]:
    """The selection and the axes a run file was made with. Raises `RunFileError` if it has
    none."""
    options = run.header.options
    try:
        return (
            msgspec.convert(options.get(SELECTION), Selection),
            msgspec.convert(options.get(AXES, {}), Axes),
        )
    except msgspec.ValidationError as error:
        raise RunFileError(
            f"the run file does not say what was selected: {error}; start anew with --overwrite"
        ) from error


def run_file_path(output: Path, output_format: str) -> Path:
    """Where the records of a run are kept while it lasts: in the output itself if that is a
    run file, else in the user's cache, under a name made from the output's path."""
    if output_format == "jsonl":
        return output
    digest = hashlib.sha256(str(output.resolve()).encode()).hexdigest()[:12]
    return cache_folder() / "unfinished" / f"{output.name}-{digest}.jsonl"


def make_folder(run_file: Path) -> None:
    """Make the folder of a run file. Raises `OutputError` if that cannot be."""
    try:
        run_file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{run_file.parent}, where records are kept while a run lasts, cannot be made: "
            f"{reason(error)}; name another cache folder in {FOLDER}, or use -f jsonl"
        ) from error


def find_pending(
    run: Run, retry: Container[Status] = (), rounds: int = 1, seed: int = 0
) -> tuple[Case, ...]:
    """A run's planned cases in the order in which they are visited yet: those without a record, or
    with one of a status that is tried again, and those that were visited in fewer rounds than
    wanted."""
    earlier = {record.id: record for record in run.records}
    return plan_visits(run.cases, rounds, seed, earlier, retry)


def _new(path: Path, head: Header, cases: Iterable[Case]) -> RunWriter:
    try:
        return RunWriter.create(path, head, cases, overwrite=True)
    except OutputError as error:
        if not path.is_relative_to(cache_folder()):
            raise
        raise OutputError(f"{error}; {FOLDER} names another cache folder") from error


@contextmanager
def open_run_file(path: Path, head: Header | None, planned: Iterable[Case]) -> Iterator[RunWriter]:
    """The run file, new with this header and these cases, or continued if there is no header."""
    if head is None:
        writer = RunWriter.resume(path)
    else:
        make_folder(path)
        writer = _new(path, head, planned)
    with writer:
        yield writer


def execute(
    path: Path,
    head: Header | None,
    planned: Iterable[Case],
    todo: Iterable[Case],
    workers: Measuring,
    progress: Progress,
    begun: Callable[[], float],
) -> Run:
    """Measure the cases in `todo` into the run file, close it, and read it back whole. A case that
    is there several times has one record, of all its visits.

    `head` and the `planned` cases start a new file; without a head the file at `path` is continued.
    `begun` gives the seconds since the run's start.

    Raises `CutShortError` if the file takes no more once it is begun, `OutputError` if it
    cannot be begun, and `RunFileError` if a run goes on in another environment.
    """
    with open_run_file(path, head, planned) as writer:
        try:
            earlier, _ = read_run(path)
            records = {record.id: record for record in earlier.records}
            environments = Environments(earlier)

            def measured(case: Case) -> Record:
                environment = environments.check(case, workers.environment(case))
                id = writer.environment(environment)
                return msgspec.structs.replace(workers.measure(case), environment=id)

            def keep(record: Record) -> None:
                records[record.id] = merge(records.get(record.id), record)
                writer.record(records[record.id])

            run_cases(todo, measured, keep, progress)
            run, _ = read_run(path)
            counts = Counter(record.status.value for record in run.records)
            writer.close_run(Closing(finished=utc_now(), elapsed_s=begun(), counts=dict(counts)))
        except OutputError as error:
            raise CutShortError(str(error)) from error
    run, _ = read_run(path)
    return run
