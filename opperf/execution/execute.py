"""Executes a schedule: measures every visit, and stores each record before the next one begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Protocol

import msgspec

from opperf.errors import OutputError
from opperf.execution.environments import Environments
from opperf.execution.executor import Executor
from opperf.execution.progress import Progress
from opperf.execution.run_header import make_folder, utc_now
from opperf.execution.schedule import Rounds, Schedule
from opperf.folders import FOLDER, cache_folder
from opperf.model import Case, Closing, Environment, Header, Record, Run
from opperf.results.runfile import RunWriter


class CutShortError(OutputError):
    """The run file could not be written to any more. Its lines are whole: the run can be
    resumed."""


class Store(Protocol):
    """Stores records. `environment` may be called by several threads."""

    def environment(self, case: Case, environment: Environment) -> str:
        """Returns the id of the environment of a case's process, which is stored."""
        ...

    def record(self, record: Record) -> None:
        """Stores a record. Raises `OutputError` if that fails."""
        ...


class NoFile:
    """Stores nothing: the schedule has the records."""

    def environment(self, case: Case, environment: Environment) -> str:
        return ""

    def record(self, record: Record) -> None:
        pass


class RunFile:
    """Appends to a run file."""

    def __init__(self, writer: RunWriter, earlier: Run | None) -> None:
        self._writer, self._lock = writer, Lock()
        self._checked = Environments(earlier)
        self.environments = {} if earlier is None else dict(earlier.environments)

    def environment(self, case: Case, environment: Environment) -> str:
        """Returns the id of the first environment of the case's group. Raises `RunFileError` if a
        run is resumed in another one."""
        with self._lock:
            first = self._checked.check(case, environment)
            id = self._writer.environment(first)
            self.environments[id] = first
            return id

    def record(self, record: Record) -> None:
        with self._lock:
            self._writer.record(record)


def execute(schedule: Schedule, executor: Executor, store: Store, progress: Progress) -> None:
    """Measures the visits of a schedule, begun in its order, as many at once as the executor has
    lanes; stores the records of each on the calling thread as soon as they are there.

    Raises `OutputError` if a record cannot be stored, and `RunFileError` if a run is resumed in
    another environment.
    """

    def measure(case: Case) -> Record:
        if not schedule.has_record(case):
            return executor.measure(case)
        id = store.environment(case, executor.environment(case))
        return msgspec.structs.replace(executor.measure(case), environment=id)

    def keep(record: Record) -> None:
        for kept in schedule.keep(record):
            store.record(kept)
        progress.end(record)

    with progress:
        visits = schedule.visits(progress.extend)
        if executor.lanes == 1:
            for case in visits:
                progress.begin(case)
                keep(measure(case))
        else:
            _measure_side_by_side(visits, measure, keep, executor, progress)


def _measure_side_by_side(
    visits: Iterable[Case],
    measure: Callable[[Case], Record],
    keep: Callable[[Record], None],
    executor: Executor,
    progress: Progress,
) -> None:
    running: set[Future[Record]] = set()

    def take() -> None:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        running.difference_update(done)
        # An error of one loses no other's record.
        for ended in sorted(done, key=lambda future: future.exception() is not None):
            keep(ended.result())

    with ThreadPoolExecutor(executor.lanes) as threads:
        try:
            for case in visits:
                progress.begin(case)
                running.add(threads.submit(measure, case))
                while len(running) == executor.lanes:
                    take()
            while running:
                take()
        except BaseException:
            # The threads then end, as their workers do.
            executor.kill()
            raise


def execute_to_file(
    path: Path,
    begun: Header | Run,
    planned: tuple[Case, ...],
    remaining: tuple[Case, ...],
    executor: Executor,
    progress: Progress,
    elapsed: Callable[[], float],
) -> Run:
    """Measures the `remaining` cases, writes their records to a run file, closes it, and returns
    its content.

    A header and the `planned` cases begin a new file; an earlier run, what the file at `path` has,
    is continued. `elapsed` returns the seconds since the run's start. Raises `OutputError` if the
    file cannot be created, `CutShortError` if it cannot be written to later, and `RunFileError` if
    a run is resumed in another environment.
    """
    earlier = begun if isinstance(begun, Run) else None
    header = begun.header if isinstance(begun, Run) else begun
    schedule = Rounds(remaining, () if earlier is None else earlier.records)
    with _open(path, header, planned, earlier) as writer:
        store = RunFile(writer, earlier)
        try:
            execute(schedule, executor, store, progress)
            records = tuple(schedule.records.values())
            counts = Counter(record.status.value for record in records)
            closing = Closing(finished=utc_now(), elapsed_s=elapsed(), counts=dict(counts))
            writer.close_run(closing)
        except OutputError as error:
            raise CutShortError(str(error)) from error
    return Run(header, records, closing, store.environments, tuple(planned))


@contextmanager
def _open(
    path: Path, header: Header, planned: Iterable[Case], earlier: Run | None
) -> Iterator[RunWriter]:
    """Opens the run file: a new one, or that of an earlier run."""
    if earlier is not None:
        writer = RunWriter.resume(path)
    else:
        make_folder(path)
        try:
            writer = RunWriter.create(path, header, planned, overwrite=True)
        except OutputError as error:
            if not path.is_relative_to(cache_folder()):
                raise
            raise OutputError(f"{error}; or set {FOLDER} to another cache folder") from error
    with writer:
        yield writer
