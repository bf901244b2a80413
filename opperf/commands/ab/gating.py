"""`ab --gate`: instructions of both arms are counted side by side, and what they leave is timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from queue import SimpleQueue

from opperf.commands.ab.counting import Counts, places_of
from opperf.commands.ab.request import Request, Work
from opperf.comparison.ab.gate import counted_cases, findings, sampled, timed_figures
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter
from opperf.execution.execute import execute, find_pending
from opperf.execution.executor import Executor
from opperf.execution.workers import Workers, build, lane_count
from opperf.machine.pinning import Pinning
from opperf.model import Case, Environment, Interpreter, Record, Run
from opperf.plurals import pluralize
from opperf.results.kept import profile_folder


class ArmLanes(AbstractContextManager["ArmLanes"]):
    """Executor of cases of several arms side by side: each arm has as many workers as another, on
    cores of their own, so that no worker is replaced by one of another arm, whose import takes half
    a minute under Valgrind."""

    def __init__(
        self,
        cases: Mapping[str, Sequence[Case]],
        interpreters: Sequence[Interpreter],
        pinning: Pinning,
        profiles: Path,
        number: int,
    ) -> None:
        self.lanes = number
        self._arm_of = {case.id: arm for arm, own in cases.items() for case in own}
        self._free: dict[str, SimpleQueue[Workers]] = {arm: SimpleQueue() for arm in cases}
        self._stack = ExitStack()
        self._all: list[Workers] = []
        for cores, arm in zip(pinning.split(number), number * list(cases), strict=False):
            one = self._stack.enter_context(Workers(interpreters, cores))
            one.profiles = profiles
            self._all.append(one)
            self._free[arm].put(one)

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def kill(self) -> None:
        for workers in self._all:
            workers.kill()

    @contextmanager
    def _one(self, case: Case) -> Iterator[Workers]:
        free = self._free[self._arm_of[case.id]]
        workers = free.get()
        try:
            yield workers
        finally:
            free.put(workers)

    def environment(self, case: Case) -> Environment:
        with self._one(case) as workers:
            return workers.environment(case)

    def measure(self, case: Case) -> Record:
        with self._one(case) as workers:
            return workers.measure(case)


def _executor(
    cases: Mapping[str, Sequence[Case]], workers: Workers, request: Request, folder: Path
) -> tuple[AbstractContextManager[Executor], tuple[Case, ...]]:
    """Returns an executor of the arms' cases, and these in the order of their visits."""
    every = tuple(chain.from_iterable(cases.values()))
    number = lane_count(every, request.pinning)
    number -= number % len(cases)
    if number == 0 or not all(cases.values()):
        workers.profiles = folder
        return workers, every
    workers.close()
    turns = zip_longest(*cases.values())
    lanes = ArmLanes(cases, workers.interpreters, request.pinning, folder, number)
    return lanes, tuple(case for turn in turns for case in turn if case is not None)


def count_first(writer: SessionWriter, request: Request) -> None:
    """Counts the cases of a session that have no count yet, and says what that leaves."""
    session = writer.session
    planned = counted_cases(session)
    every = tuple(chain.from_iterable(planned.values()))
    writer.plan(every)
    earlier = tuple(session.counts.values())
    left = {case.id for case in find_pending(Run(session.header, earlier, cases=every))}
    if left:
        own = {arm: [case for case in cases if case.id in left] for arm, cases in planned.items()}
        with Workers(session.header.interpreters, request.pinning) as workers:
            build(workers, [case for cases in own.values() for case in cases], request.say)
            opened, order = _executor(own, workers, request, profile_folder(request.report))
            schedule = Counts(places_of(planned), order, earlier)
            with opened as executor:
                beside = f", {executor.lanes} workers side by side" if executor.lanes > 1 else ""
                request.say(f"counting {pluralize(len(order), 'case')} of both arms{beside}")
                try:
                    execute(
                        schedule,
                        executor,
                        writer.store,
                        request.make_progress(len(order), Work("count")),
                    )
                finally:
                    session.counts.update(schedule.records)
    request.say(leftover(session))


def leftover(session: Session) -> str:
    """Returns what the counts say, and what is timed, in a sentence."""
    found = findings(session)
    timed = frozenset(timed_figures(session))
    kinds = Counter(finding.kind for finding in found.values())
    parts = [f"{number} {words}" for words, number in kinds.items()]
    drawn = len(sampled(session, found))
    sample = f", with a sample of {pluralize(drawn, 'case')}" if drawn else ""
    return (
        f"instructions of {pluralize(len(found), 'figure')}: {', '.join(parts)}; "
        f"{len(timed) or 'none'} timed{sample}"
    )
