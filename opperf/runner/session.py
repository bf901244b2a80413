"""A run from the plan to the file: every case measured, every record kept as it is made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import OutputError, RunFileError
from opperf.model import SCHEMA_VERSION, Case, Closing, Environment, Header, Record, Run, Status
from opperf.results.runfile import RunWriter, read_run
from opperf.results.unwritable import reason
from opperf.runner.cache import cache_folder
from opperf.runner.plan import Plan
from opperf.runner.pool import Worker
from opperf.runner.progress import Progress
from opperf.runner.rounds import merged, visits
from opperf.runner.selecting import Selection

SELECTION = "selection"
"""Key of the selection among a header's options: what `--resume` plans again."""


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


def now() -> str:
    """This moment, ISO 8601, UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def header(
    plan: Plan, selection: Selection, environment: Environment, options: Mapping[str, Any]
) -> Header:
    """The first line of a run file."""
    return Header(
        schema=SCHEMA_VERSION,
        started=now(),
        environment=environment,
        options={**options, SELECTION: msgspec.to_builtins(selection)},
        planned=tuple(case.id for case in plan.cases),
        no_benchmark=plan.no_benchmark,
    )


def selection_of(run: Run) -> Selection:
    """The selection a run file was made with. Raises `RunFileError` if it names none."""
    try:
        return msgspec.convert(run.header.options.get(SELECTION), Selection)
    except msgspec.ValidationError as error:
        raise RunFileError(
            f"the run file does not say what was selected: {error}; start anew with --overwrite"
        ) from error


def run_file_for(output: Path, output_format: str) -> Path:
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
            f"{reason(error)}; name another cache folder in XDG_CACHE_HOME, or use -f jsonl"
        ) from error


def pending(
    run: Run, plan: Plan, retry: Container[Status] = (), rounds: int = 1, seed: int = 0
) -> tuple[Case, ...]:
    """The planned cases in the order in which they are visited yet: those without a record, or with
    one of a status that is tried again, and those that were visited in fewer rounds than wanted.

    Raises `RunFileError` when the run is another plan's.
    """
    planned = tuple(case.id for case in plan.cases)
    if planned != run.header.planned:
        raise RunFileError(
            f"the run file plans {len(run.header.planned)} cases and this opperf and framework "
            f"plan {len(planned)} others from the same options; start anew with --overwrite"
        )
    earlier = {record.id: record for record in run.records}
    return visits(plan.cases, rounds, seed, earlier, retry)


def _new(path: Path, head: Header) -> RunWriter:
    try:
        return RunWriter.create(path, head, overwrite=True)
    except OutputError as error:
        if not path.is_relative_to(cache_folder()):
            raise
        raise OutputError(f"{error}; XDG_CACHE_HOME names another cache folder") from error


@contextmanager
def kept(path: Path, head: Header | None) -> Iterator[RunWriter]:
    """The run file, new with this header, or continued if there is none."""
    if head is None:
        writer = RunWriter.resume(path)
    else:
        make_folder(path)
        writer = _new(path, head)
    with writer:
        yield writer


def execute(
    path: Path,
    head: Header | None,
    cases: Iterable[Case],
    worker: Worker,
    progress: Progress,
    begun: Callable[[], float],
) -> Run:
    """Measure the cases into the run file, close it, and read it back whole. A case that is there
    several times has one record, of all its visits.

    `head` starts a new file; without it the file at `path` is continued. `begun` gives the
    seconds since the run's start.

    Raises `CutShortError` if the file takes no more once it is begun, and `OutputError` if it
    cannot be begun.
    """
    with kept(path, head) as writer:
        try:
            records = {record.id: record for record in read_run(path)[0].records}

            def keep(record: Record) -> None:
                records[record.id] = merged(records.get(record.id), record)
                writer.record(records[record.id])

            run_cases(cases, worker.measure, keep, progress)
            run, _ = read_run(path)
            counts = Counter(record.status.value for record in run.records)
            writer.close_run(Closing(finished=now(), elapsed_s=begun(), counts=dict(counts)))
        except OutputError as error:
            raise CutShortError(str(error)) from error
    run, _ = read_run(path)
    return run
