"""Executes a schedule: measures every visit, and stores each record before the next one begins.
`Rounds` is the schedule of a run."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock
from typing import Protocol

import msgspec

from opperf.errors import OutputError, RunFileError
from opperf.execution.executor import ClusterExecutor, Executor
from opperf.execution.progress import Progress
from opperf.execution.remeasuring import (
    find_contended,
    find_suspects,
    settle,
    settle_contended,
    without_memory,
)
from opperf.execution.run_header import make_folder, utc_now
from opperf.folders import FOLDER, cache_folder
from opperf.machine.environment import Difference, incomparable, lasting_differences
from opperf.model import Case, Closing, Environment, Header, Record, Run, Status
from opperf.results.runfile import RunWriter, merge
from opperf.sources.varying import group_by_process, process_key


class CutShortError(OutputError):
    """The run file could not be written to any more; the run can be resumed."""


class Schedule(Protocol):
    """Orders visits of cases, and makes the records that are kept of theirs."""

    def visits(self, extend: Callable[[int], None]) -> Iterator[Case]:
        """Yields the cases to measure, which may depend on the records kept by then. Says by
        `extend` when more follow than planned."""
        ...

    def has_record(self, case: Case) -> bool:
        """Whether the record of a visited case is kept, and so its environment."""
        ...

    def keep(self, record: Record) -> list[Record]:
        """Returns the records to write after a visit: new ones, and changed ones again."""
        ...


def plan_visits(
    cases: Iterable[Case],
    rounds: int,
    seed: int,
    earlier: Mapping[str, Record] | None = None,
    retry: Container[Status] = (),
    together: bool = True,
) -> tuple[Case, ...]:
    """Returns the cases in the order of their measurement, each once for every round that it still
    needs, those of one process `together`. Each of several rounds has a random order of its own. A
    case that did not end ok is measured again if its status is in `retry`."""
    listed = list(cases)
    done = {case.id: _rounds_done((earlier or {}).get(case.id), rounds, retry) for case in listed}
    found: list[Case] = []
    for number in range(rounds):
        order = list(listed)
        if rounds > 1:
            random.Random(f"{seed} {number}").shuffle(order)
        remaining = (case for case in order if done[case.id] <= number)
        # The first round alone measures memory, which is the same each time.
        visits = remaining if number == 0 else map(without_memory, remaining)
        found += take_turns(group_by_process(visits) if together else visits)
    return tuple(found)


def take_turns(cases: Iterable[Case]) -> Iterator[Case]:
    """Returns the cases of each node in their order, those of different nodes in turn."""
    by_node: dict[str, list[Case]] = {}
    for case in cases:
        by_node.setdefault(case.settings.node, []).append(case)
    for turn in itertools.zip_longest(*by_node.values()):
        yield from (case for case in turn if case is not None)


def _rounds_done(record: Record | None, rounds: int, retry: Container[Status]) -> int:
    if record is None or record.status in retry:
        return 0
    return record.rounds if record.status is Status.OK else rounds


def find_pending(
    run: Run, retry: Container[Status] = (), rounds: int = 1, seed: int = 0, together: bool = True
) -> tuple[Case, ...]:
    """Returns the cases that remain to be measured, in order: those without a record, with a status
    to retry, or with fewer rounds than `rounds`."""
    earlier = {record.id: record for record in run.records}
    return plan_visits(run.cases, rounds, seed, earlier, retry, together)


class Rounds:
    """Visits cases once, or once in each of several rounds, whose record replaces the earlier one.
    One whose time is an outlier is measured again at the end, and one whose threads waited for
    cores with one thread."""

    def __init__(self, remaining: Sequence[Case], earlier: Iterable[Record] = ()) -> None:
        self._remaining = remaining
        self.records = {record.id: record for record in earlier}
        """Records so far, by the id of the case, those of an earlier run among them."""
        self._suspects: dict[str, Record] = {}
        self._contended: dict[str, list[str]] = {}
        """Ids of records by those of the cases that measure them with one thread."""

    def visits(self, extend: Callable[[int], None]) -> Iterator[Case]:
        yield from self._remaining
        # A run whose cases are all measured is only closed.
        if not self._remaining:
            return
        found = find_suspects(self.records.values(), len(self.records))
        self._suspects.update({record.id: record for record in found})
        extend(len(found))
        yield from (without_memory(record.case) for record in found)
        unsettled = [id for id, first in self._suspects.items() if self.records[id] is first]
        alone = find_contended(self.records.values(), unsettled)
        self._contended.update({case.id: ids for case, ids in alone})
        extend(len(alone))
        yield from (case for case, _ in alone)

    def has_record(self, case: Case) -> bool:
        # That of a case with one thread is part of another case's.
        return case.id not in self._contended

    def keep(self, record: Record) -> list[Record]:
        if record.id in self._contended:
            kept = [settle_contended(self.records[id], record) for id in self._contended[record.id]]
        else:
            first = self._suspects.get(record.id)
            earlier = self.records.get(record.id)
            kept = [
                settle(first, record) if first else merge(earlier, [record]) if earlier else record
            ]
        # A second measurement may have changed nothing.
        changed = [made for made in kept if made is not self.records.get(made.id)]
        self.records.update({made.id: made for made in changed})
        return changed


class Store(Protocol):
    """Stores records. `environment` may be called by several threads."""

    def environment(self, case: Case, environment: Environment, node: str = "") -> str:
        """Returns the id of the stored environment of a case's process, on a cluster's `node`."""
        ...

    def record(self, record: Record) -> None:
        """Stores a record. Raises `OutputError` if that fails."""
        ...


class NoFile:
    """Stores nothing: the schedule has the records."""

    def environment(self, case: Case, environment: Environment, node: str = "") -> str:
        return ""

    def record(self, record: Record) -> None:
        pass


def check_environment(name: str, before: Environment, after: Environment) -> None:
    """Raises `RunFileError` with the lasting differences, if any. `name` is in the message."""
    _check_none(name, lasting_differences(before, after), "resume it there")


def check_comparable(name: str, before: Environment, after: Environment) -> None:
    """Raises `RunFileError` with the facts of two nodes' environments by which their times may not
    be joined, if any. `name` is in the message."""
    found = incomparable(before, after)
    _check_none(name, found, "resume it on a node of that kind, which --nodes chooses")


def _check_none(name: str, found: Iterable[Difference], advice: str) -> None:
    differing = [f"{field} was {old!r} and is {new!r}" for field, old, new in found]
    if differing:
        raise RunFileError(
            f"{name} was measured in another environment: {'; '.join(differing)}; {advice}, "
            "or replace it with --overwrite"
        )


class Environments:
    """The environments of a run, one for each group of cases that one worker can measure, and each
    node. Another worker of theirs has to have the same, except for what is transient."""

    def __init__(self, earlier: Run | None = None) -> None:
        self._of: dict[tuple[str, str], Environment] = {}
        if earlier is not None:
            for record in filter(lambda record: record.environment, earlier.records):
                self._of[_group(record.case), record.node] = earlier.environments[
                    record.environment
                ]

    def check(self, case: Case, now: Environment, node: str = "") -> Environment:
        """Returns the first environment of the case's group. Raises `RunFileError` if `now`
        differs."""
        first = self._of.setdefault((_group(case), node), now)
        check_environment(f"node {node}" if node else "the run to resume", first, now)
        return first


def _group(case: Case) -> str:
    return process_key(case.target.framework, case.settings)


class RunFile:
    """Appends to a run file."""

    def __init__(self, writer: RunWriter, earlier: Run | None) -> None:
        self._writer, self._lock = writer, Lock()
        self._checked = Environments(earlier)
        self.environments = {} if earlier is None else dict(earlier.environments)

    def environment(self, case: Case, environment: Environment, node: str = "") -> str:
        with self._lock:
            first = self._checked.check(case, environment, node)
            id = self._writer.environment(first)
            self.environments[id] = first
            return id

    def record(self, record: Record) -> None:
        with self._lock:
            self._writer.record(record)


def execute(schedule: Schedule, executor: Executor, store: Store, progress: Progress) -> None:
    """Measures the visits of a schedule, as many at once as the executor has lanes, and stores the
    records of each on the calling thread. Raises `OutputError` if one cannot be stored, and
    `RunFileError` if a run is resumed in another environment."""

    cluster = executor if isinstance(executor, ClusterExecutor) else None

    def measure(case: Case) -> Record:
        if not schedule.has_record(case):
            return executor.measure(case)
        if cluster is not None:
            return cluster.measure_at(
                case, lambda node, environment: store.environment(case, environment, node)
            )
        id = store.environment(case, executor.environment(case))
        return msgspec.structs.replace(executor.measure(case), environment=id)

    def store_kept(record: Record) -> None:
        for kept in schedule.keep(record):
            store.record(kept)
        progress.end(record)

    with progress:
        visits = schedule.visits(progress.extend)
        if executor.lanes == 1:
            for case in visits:
                progress.begin(case)
                store_kept(measure(case))
        else:
            _measure_side_by_side(visits, measure, store_kept, executor, progress)


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
    its content. A header and the `planned` cases begin a new file; an earlier run is continued.
    Raises `OutputError` if the file cannot be created, `CutShortError` if it cannot be written to
    later, and `RunFileError` in another environment."""
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


def _open(path: Path, header: Header, planned: Iterable[Case], earlier: Run | None) -> RunWriter:
    if earlier is not None:
        return RunWriter.resume(path)
    make_folder(path)
    try:
        return RunWriter.create(path, header, planned, overwrite=True)
    except OutputError as error:
        if not path.is_relative_to(cache_folder()):
            raise
        raise OutputError(f"{error}; or set {FOLDER} to another cache folder") from error
