"""Counts instructions of both arms, a stage of a session: each case once, as load and order do not
change a count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from queue import SimpleQueue

import msgspec

from opperf.comparison.ab.gate import counted_cases, findings, sampled, timed_figures
from opperf.comparison.ab.session import COUNTS, Session
from opperf.execution.execute import Rounds, find_pending
from opperf.execution.executor import Executor
from opperf.execution.workers import Workers, lane_count
from opperf.machine.pinning import Pinning
from opperf.model import Case, Environment, Interpreter, Place, Record, Run
from opperf.plurals import pluralize


class Counts(Rounds):
    """Schedule of counted cases, each in the place of its arm; none that has a count already."""

    def __init__(self, session: Session, pinning: Pinning) -> None:
        self._session, self._pinning = session, pinning
        planned = counted_cases(session)
        self._places = {
            case.id: Place(COUNTS, 0, position, arm, arm)
            for position, (arm, own) in enumerate(planned.items())
            for case in own
        }
        self.every = tuple(chain.from_iterable(planned.values()))
        earlier = tuple(session.counts.values())
        left = {case.id for case in find_pending(Run(session.header, earlier, cases=self.every))}
        of_arms = {arm: [case for case in own if case.id in left] for arm, own in planned.items()}
        self.left = {arm: own for arm, own in of_arms.items() if own}
        order = tuple(chain.from_iterable(self.left.values()))
        self._lanes = lane_count(order, pinning)
        self._lanes -= self._lanes % max(1, len(self.left))
        if self._lanes > 1:
            turns = zip_longest(*self.left.values())
            order = tuple(case for turn in turns for case in turn if case is not None)
        self.order = order
        super().__init__(order, earlier)

    def executor(self, workers: Workers, profiles: Path) -> AbstractContextManager[Executor]:
        """Returns the executor of the cases: side by side where there are cores for that, else the
        workers."""
        if self._lanes < 2:
            workers.profiles = profiles
            return workers
        workers.close()
        return ArmLanes(self.left, workers.interpreters, self._pinning, profiles, self._lanes)

    def keep(self, record: Record) -> list[Record]:
        kept = [
            msgspec.structs.replace(made, place=self._places.get(made.id))
            for made in super().keep(record)
        ]
        self._session.counts.update((made.id, made) for made in kept)
        return kept


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
