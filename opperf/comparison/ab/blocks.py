"""Measures a stage of a session: a schedule of its processes, and their executor.

A replicate is one process, because a case's time depends on the memory layout and other accidents
of its process. So where a case ends its process, the replicate starts again without that case,
which is then excluded from the session; where a process ends by itself, it starts again as it was.

A fork takes some ten milliseconds, and an import of a framework more than a second. But forks share
their parent's memory layout, which moves an operator's time. So only the processes of one arm in
one block are forks of one process: each block has new ones, so that blocks are independent and
differ by whatever fresh processes differ by. In the control the first arm stands for the second
too, with a worker for each role, so that it differs from itself as it would from another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from types import MappingProxyType

import msgspec

from opperf.comparison.ab.arms import with_all_threads
from opperf.comparison.ab.forecast import Stage, block_of
from opperf.comparison.ab.gate import timed_figures
from opperf.comparison.ab.process import FATAL, Lost, key
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter
from opperf.comparison.ab.timed_results import TimedResults
from opperf.comparison.ab.visit_times import visit_times
from opperf.errors import WorkerError
from opperf.execution.run_header import utc_now
from opperf.instruments.visit import FewCalls, KeptResults
from opperf.model import (
    DEFAULTS,
    PASSES,
    Case,
    Environment,
    OperatorTarget,
    Place,
    ProcessLine,
    Record,
)
from opperf.sources.varying import with_settings
from opperf.statistics.design import visiting_order
from opperf.worker.client import Worker
from opperf.worker.protocol import ForkRequest, Observed

ATTEMPTS = 5
"""Most processes for one replicate. Each case that ends its process is excluded from then on, so
that more than a few mean a machine or a build that cannot be measured."""

Start = Callable[[str], Worker]
"""Makes a worker of an arm."""


class ArmProcesses(AbstractContextManager["ArmProcesses"]):
    """Executor of the processes of arms, one at a time; `start` makes a block's workers."""

    lanes = 1

    def __init__(self, start: Start) -> None:
        self._start = start
        self._block: object = None
        self._stack = ExitStack()
        self._workers: dict[str, Worker] = {}
        self._worker: Worker | None = None
        self._launches = 0
        self._is_first = False
        self._results: Mapping[str, KeptResults] = {}
        self._few: Mapping[str, FewCalls] = {}
        self.records: Sequence[Record] = ()
        """Of what was measured last: one, or one of each arm where their calls alternate."""

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        self._workers.clear()
        self._block = None

    def begin_block(
        self, block: object, arms: Mapping[str, str], cases_of: Callable[[str], Iterable[Case]]
    ) -> None:
        """Starts the workers of a block, for the arm of each role, unless they run already.
        `cases_of` returns what is measured of an arm."""
        if block == self._block:
            return
        self.__exit__()
        self._block = block
        for role, arm in arms.items():
            self._workers[role] = self._stack.enter_context(self._start(arm))
        forks = [forks_of(tuple(cases_of(arm))) for arm in arms.values()]
        start_together(tuple(self._workers.values()), forks)

    def begin(
        self,
        place: Place,
        cases: Iterable[Case],
        results: Mapping[str, KeptResults] = MappingProxyType({}),
        few: Mapping[str, FewCalls] = MappingProxyType({}),
        is_first: bool = False,
    ) -> None:
        """Begins a process; `results` say where those of timed calls are kept, and `few` how slow
        cases are sampled, by the case's id. The first of an arm looks for work that a compiler
        removed."""
        self._results, self._few, self._is_first = results, few, is_first
        self._worker = self._workers[self._role(place)]
        forks = forks_of(tuple(cases))
        self._worker.begin_process(forks.devices, forks.rehearsed)
        self._launches = self._worker.launches

    def _role(self, place: Place) -> str:
        """Returns the key of the worker of a process."""
        return place.role

    @property
    def was_replaced(self) -> bool:
        """Whether another process has replaced the one that was begun."""
        return self._current.launches != self._launches

    def measure(self, case: Case) -> Record:
        record = self._current.measure(
            case,
            results=self._results.get(case.id),
            finds_removed_work=self._is_first,
            few=self._few.get(case.id),
        )
        self.records = (record,)
        return record

    def observe(self, place: Place, case: Case, folder: Path, draw: int) -> Observed:
        """Returns the results of the first call of a new process of a place."""
        self.begin(place, [case])
        return self._current.observe(case, folder, draw)

    def environment(self, case: Case) -> Environment:
        return self._current.environment()

    def kill(self) -> None:
        """Ends the process, from any thread."""
        self._current.kill()

    @property
    def _current(self) -> Worker:
        if self._worker is None:
            raise WorkerError("no process of an arm has begun")
        return self._worker


IMPORTS = 2
"""Imports whose forks the processes of a stage are, in turn, where calls of the arms alternate: as
many as start side by side on the smallest machine. What forks of an import have in common moves a
ratio within a process by less than half a percent, a quarter of the threshold."""


class AlternatingProcesses(ArmProcesses):
    """Executor of processes that have all arms, whose calls alternate: forks of a few imports."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.beside: Mapping[str, Sequence[Case]] = {}
        """The cases of the arms that are measured together, by the first one's id."""
        self.draw = ""
        """Seed of their orders."""

    def begin_block(
        self, block: object, arms: Mapping[str, str], cases_of: Callable[[str], Iterable[Case]]
    ) -> None:
        if self._block is not None:
            return
        self._block = block
        forks = forks_of([case for arm in arms.values() for case in cases_of(arm)])
        for number in range(IMPORTS):
            worker = self._start(next(iter(arms.values())))
            self._workers[str(number)] = self._stack.enter_context(worker)
        start_together(tuple(self._workers.values()), [forks] * IMPORTS)

    def _role(self, place: Place) -> str:
        return str(place.block % IMPORTS)

    def measure(self, case: Case) -> Record:
        self.records = self._current.alternate(
            self.beside[case.id],
            f"{self.draw} {case.id}",
            self._results,
            self._is_first,
            self._few.get(case.id),
        )
        return self.records[0]


class Blocks:
    """Schedule of a stage: the cases of each process, in random order."""

    def __init__(self, writer: SessionWriter, stage: Stage, processes: ArmProcesses) -> None:
        self._writer, self._stage, self._processes = writer, stage, processes
        self.times = visit_times(writer.session, stage)
        """Seconds of pairs that have others than the session's."""
        self._kept: list[Record] = []
        session = writer.session
        done = (process.line.place for process in session.processes)
        self.places = tuple(stage.places(session.plan.seed, session.arms, done, session.plan.order))
        """Processes that remain; where the arms alternate, each arm of those."""
        self._now: Sequence[Place] = self.places[:1]
        """Those of the process that is measured."""
        self._results: Mapping[str, KeptResults] = {}
        self._planned: Sequence[Mapping[str, Case]] = ()
        self._group = ""
        """That of the case that was yielded last."""
        self.n_processes = len(self._together())
        self.n_cases = max(len(cases_at(stage, session, arm)) for arm in session.arms)

    def visits(self, extend: Callable[[int], None]) -> Iterator[Case]:
        """Yields the cases of each process. Raises `WorkerError` if none completes a replicate."""
        session = self._writer.session
        at = partial(cases_at, self._stage, session)
        with TimedResults(session, self._stage.phase, self.places) as results:
            for places in self._together():
                started, begun = utc_now(), time.monotonic()
                self._now = places
                self._planned = [_planned(self._stage, session, place.arm) for place in places]
                cases = [results.begin(place, self._with_times(at(place.arm))) for place in places]
                if cases[0]:
                    block = block_of(places[0])
                    left = [place for place in self.places if block_of(place) == block]
                    self._processes.begin_block(
                        block,
                        {place.role: place.arm for place in left},
                        lambda arm: at(arm).values(),
                    )
                self._writer.plan(planned[name] for planned in self._planned for name in cases[0])
                records: dict[str, list[Record]] = {}
                self._results = {
                    id: own for place in places for id, own in results.kept(place).items()
                }
                yield from self._replicate(cases, records, extend)
                wall_s = (time.monotonic() - begun) / len(places)
                for number, place in enumerate(places):
                    checks = results.check(place, self._processes.observe)
                    line = ProcessLine(place, started, wall_s, checks)
                    self._writer.add(line, [found[number] for found in records.values()])

    def _together(self) -> list[list[Place]]:
        """Returns the places that one process has: one, or each arm's."""
        if not isinstance(self._processes, AlternatingProcesses):
            return [[place] for place in self.places]
        found: dict[int, list[Place]] = {}
        for place in self.places:
            found.setdefault(place.block, []).append(place)
        return list(found.values())

    def _with_times(self, cases: Mapping[str, Case]) -> dict[str, Case]:
        """Returns the cases, by group, with the times that this stage has for them."""
        found = dict(cases)
        for name in self.times.keys() & found.keys():
            found[name] = with_settings(found[name], {"max_time_s": self.times[name]})
        return found

    def _replicate(
        self,
        arms: Sequence[Mapping[str, Case]],
        records: dict[str, list[Record]],
        extend: Callable[[int], None],
    ) -> Iterator[Case]:
        """Yields the cases of a process, the first arm's, for each one that it takes; `records` are
        the last's."""
        (place, *_), (cases, *_), session = self._now, arms, self._writer.session
        order = visiting_order(
            cases, session.plan.seed, place.phase, place.block, place.position, len(session.arms)
        )
        for _ in range(ATTEMPTS):
            left = [name for name in order if name not in records]
            if left:
                is_first = all(done.line.place.arm != place.arm for done in session.processes)
                slow = session.plan.slow
                few = {
                    cases[name].id: slow[name].few_calls(place.arm)
                    for name in slow.keys() & cases.keys()
                }
                every = [case for own in arms for case in own.values()]
                if isinstance(self._processes, AlternatingProcesses):
                    self._processes.beside = {
                        case.id: [own[name] for own in arms] for name, case in cases.items()
                    }
                    self._processes.draw = f"{session.plan.seed}/{place.phase}/{place.block}"
                self._processes.begin(place, every, self._results, few, is_first)
            for visited, name in enumerate(left):
                self._group = name
                yield cases[name]
                records[name] = self._kept
                is_fatal = self._kept[0].status in FATAL
                if is_fatal or self._processes.was_replaced:
                    extend(visited if is_fatal else visited + 1)
                    break
            else:
                return
            for name in [name for name, own in records.items() if own[0].status not in FATAL]:
                del records[name]
        why = "".join(
            f"; {own[0].case.label}: {own[0].status.value}: {own[0].reason}"
            for own in records.values()
        )
        raise WorkerError(
            f"no worker completed the replicate: {ATTEMPTS} processes of arm {place.arm} ended "
            f"early{why}"
        )

    def has_record(self, case: Case) -> bool:
        """Returns False: the environment is that of the arm."""
        return False

    def keep(self, record: Record) -> list[Record]:
        """Returns the records of the planned case, with their places and environments."""
        made = zip(self._processes.records or [record], self._planned, self._now, strict=False)
        self._kept = [self._as_planned(*own) for own in made]
        return self._kept

    def _as_planned(self, record: Record, every: Mapping[str, Case], place: Place) -> Record:
        # The visited case may have fewer passes, and no interpreter.
        planned = every[self._group]
        # What runs on the way to a pass that is measured is no figure of the process.
        unasked = set(PASSES) - set(record.case.passes)
        return msgspec.structs.replace(
            record,
            case=msgspec.structs.replace(planned, passes=record.case.passes),
            id=planned.id,
            summaries={name: own for name, own in record.summaries.items() if name not in unasked},
            samples={name: own for name, own in record.samples.items() if name not in unasked},
            place=place,
            node=self._writer.node,
            environment=self._writer.environments.get(place.arm, ""),
        )


def forks_of(cases: Sequence[Case]) -> ForkRequest:
    """Returns the request for a process of these cases, which were rehearsed."""
    devices = dict.fromkeys(case.settings.device for case in cases)
    # Of cases that call operators eagerly on dense tensors.
    rehearsed = all(
        isinstance(case.target, OperatorTarget)
        and case.settings.mode == DEFAULTS["mode"]
        and all(spec.layout == "dense" for _, spec in case.tensors())
        for case in cases
    )
    return ForkRequest(tuple(devices), rehearsed=rehearsed)


def _planned(stage: Stage, session: Session, arm: str) -> dict[str, Case]:
    cases = session.cases_of(arm)
    if stage.phase != "coarse":
        return cases
    return {name: with_all_threads(case) for name, case in cases.items()}


def select_cases(
    cases: Mapping[str, Case], figures: Sequence[str], lost: Mapping[str, Lost]
) -> dict[str, Case]:
    """Returns the cases that a process measures, by group, with the passes among `figures`, or all;
    without those that have ended a process, and without the process's interpreter."""
    wanted = frozenset(figures)
    found: dict[str, Case] = {}
    for name, case in cases.items():
        if name in lost and lost[name].ended:
            continue
        passes = tuple(
            metric for metric in case.passes if not wanted or key(name, metric) in wanted
        )
        if passes:
            # The rehearsal has verified the results.
            case = with_settings(case, {"python": DEFAULTS["python"], "verify": False})
            found[name] = msgspec.structs.replace(case, passes=passes)
    return found


def cases_at(stage: Stage, session: Session, arm: str) -> dict[str, Case]:
    """Returns the cases of an arm in a stage, by group. The coarse look costs the verdicts none."""
    cases, lost = _planned(stage, session, arm), session.lost
    if stage.phase == "coarse":
        lost = {**session.coarse_lost, **{name: why for name, why in lost.items() if why.ended}}
    return select_cases(cases, stage.figures or timed_figures(session), lost)


def start_together(workers: Sequence[Worker], forks: Sequence[ForkRequest]) -> None:
    """Starts workers at the same time, which prepare their forks, and waits for all: an import
    takes a core more than a second, and nothing is measured yet. While something is, no worker
    starts: an import on another core makes operators slower by a percent, and their scatter larger
    by half (`benchmarks/verdicts/import_beside.py`). The first starts on its own cores, each
    further one on others if as many are left. Raises `WorkerError` for one that cannot start."""
    taken = frozenset[int]()
    for worker, asked in zip(workers, forks, strict=True):
        own, usable = worker.cpus
        free = sorted(usable - taken - own, reverse=True)[: len(own)]
        place = own if not own & taken else frozenset(free) if len(free) == len(own) else own
        taken |= place
        worker.launch(place, [msgspec.json.encode(asked).decode()])
    for worker in workers:
        worker.environment()
