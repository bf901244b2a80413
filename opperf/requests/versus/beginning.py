"""Begins a comparison of implementations: the arms start, have an operator for each row, and call
each once, which is measured by an ordinary session."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from opperf.comparison.ab.arms import Order, ThreadPlan, can_alternate, choose_order, plan_threads
from opperf.comparison.ab.checking import check_pair
from opperf.comparison.ab.deadline import Deadline
from opperf.comparison.ab.forecast import check_budget, forecast_of, forecast_text
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR, Caller, why_excluded
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter, new_session
from opperf.comparison.ab.session_plan import Implementations, Implemented, Lacking
from opperf.comparison.ab.slow_calls import SlowPair, Visits, slow_pair
from opperf.comparison.versus.judging import is_decided
from opperf.errors import FrameworkError, UsageError, WorkerError, one_line
from opperf.instruments.memory import MEMORY, MEMORY_FORWARD
from opperf.instruments.verification.instrument import REFERENCE
from opperf.model import (
    PASSES,
    Case,
    Check,
    Environment,
    Record,
    Status,
    Verification,
)
from opperf.plurals import pluralize
from opperf.requests.ab.beginning import say_cores, starter
from opperf.requests.ab.keeping import make_room
from opperf.requests.ab.planning import along_axes, listed
from opperf.requests.ab.resolving import Work as Visited
from opperf.requests.versus.arms import check_arms
from opperf.requests.versus.planning import Group, plan_groups, random_rows
from opperf.requests.versus.resolving import ResolvedVersus
from opperf.results.figures import CaseFigures
from opperf.results.roofline import Work, work_of
from opperf.sources.operation_rows import Row
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker


class Beginning:
    """A comparison that begins."""

    def __init__(self, request: ResolvedVersus, stack: ExitStack) -> None:
        self.request, self.session = request, request.session
        session = self.session
        self.threads: ThreadPlan = plan_threads(
            session.threads,
            "threads" in session.given,
            tuple(session.arms.values()),
            session.environment,
            len(session.pinning.usable),
        )
        number = self.threads.threads.number
        start = starter(session.arms, session.framework, session, number, memory=True)
        self.absent = dict(request.absent)
        self.workers: dict[str, Worker] = {}
        environments: dict[str, Environment] = {}
        begun = time.monotonic()
        every = {name: stack.enter_context(start(name)) for name in session.arms}
        for worker in every.values():
            # All import at the same time.
            worker.launch(worker.cpus.pinned)
        for name, worker in every.items():
            try:
                environments[name] = worker.environment()
            except (WorkerError, FrameworkError) as error:
                self.absent[name] = one_line(str(error))
                session.say(f"absent: {name}: {self.absent[name]}")
            else:
                self.workers[name] = worker
        self.arms = {name: arm for name, arm in session.arms.items() if name in self.workers}
        check_arms(self.arms, self.absent)
        settings = msgspec.structs.replace(session.selection.settings, threads=number)
        self.common = msgspec.structs.replace(session.selection, settings=settings)
        start_s = (time.monotonic() - begun) / len(self.arms)
        combinations = list(along_axes(self.common, session.axes))
        rows: Sequence[Row] = request.rows
        if self.common.fuzz is not None:
            session.say("trying which extents of the inputs can change")
            rows = random_rows(self.workers, self.arms, rows, combinations[0])
        self.plan = plan_groups(self.workers, self.arms, rows, combinations)
        self.environments, self.start_s = environments, start_s
        self.numerics = {name: worker.numerics() for name, worker in self.workers.items()}

    def begin(self) -> SessionWriter:
        """Calls each case once and begins the session's file. Raises `UsageError` where no row has
        two arms that run it."""
        request, session = self.request, self.session
        if not self.plan.groups:
            raise UsageError(f"nothing to compare: {_why_nothing(self.plan.lacking)}")
        say_cores(self.arms, session, self.threads.threads)
        session.say(f"calling each case once in {listed(self.arms)}")
        made = _Rehearsed(self)
        if not made.groups:
            raise UsageError(f"nothing to compare: {_why_nothing(made.lacking)}")
        self._drop_idle(made)
        plan = made.session(self._order(made))
        forecast = forecast_of(plan)
        if not request.asked.quick:
            asked = session.asked
            check_budget(forecast, session.thresholds, asked.case_time_s, asked.budget_s)
            session.say(
                f"{pluralize(len(made.groups), 'row')} of {listed(self.arms)}: "
                f"{forecast_text(forecast, session.thresholds)}"
            )
        if session.is_default_report and not request.asked.overwrite:
            for line in make_room(session.report):
                session.say(line)
        return SessionWriter.create(session.report, plan, request.asked.overwrite)

    def _drop_idle(self, made: _Rehearsed) -> None:
        """Leaves out arms that have no row to measure."""
        busy = {name for group in made.groups.values() for name in group.cases}
        for name in self.arms.keys() - busy:
            self.absent[name] = "it has none of the rows"
            self.session.say(f"absent: {name}: {self.absent[name]}")
        self.arms = {name: arm for name, arm in self.arms.items() if name in busy}

    def _order(self, made: _Rehearsed) -> Order:
        """Returns the order of the session: where one process can have all arms their calls
        alternate. Raises `UsageError` if they are to and cannot."""
        asked = self.session.asked.order
        every = [[case.passes for case in group.cases.values()] for group in made.groups.values()]
        are_whole = all(own == [own[0]] * len(self.arms) for own in every)
        if asked == "alternate" and not are_whole:
            raise UsageError("--order alternate: some rows are not in all arms; omit it")
        if asked is None and are_whole and can_alternate(self.arms, self.common):
            return "alternate"
        return choose_order(asked, self.arms, self.common)


def _why_nothing(lacking: Sequence[Lacking]) -> str:
    first = lacking[0]
    return f"{first.operation} ({first.inputs}), {first.arm}: {first.reason}"


class _Rehearsed:
    """The groups whose cases were called once in each arm."""

    def __init__(self, begun: Beginning) -> None:
        self._begun, self._request = begun, begun.session
        self.lacking = list(begun.plan.lacking)
        self._memory: dict[str, dict[str, float]] = defaultdict(dict)
        self._verified: dict[str, dict[str, Verification]] = defaultdict(dict)
        self._work: dict[str, list[Work]] = defaultdict(list)
        self._first_s = 0.0
        self.slow: dict[str, SlowPair] = {}
        self.visit_s: dict[str, float] = {}
        visits = self._call_all()
        self.numerics = {
            name: _told_of_changes(before, begun.workers[name].numerics())
            for name, before in begun.numerics.items()
        }
        self.groups = {
            group.id: made
            for group in begun.plan.groups
            if (
                made := self._kept(
                    group, {n: own[group.id] for n, own in visits.items() if group.id in own}
                )
            )
        }
        self.checks = self._checked()
        for worker in begun.workers.values():
            worker.end_process()

    def _call_all(self) -> dict[str, dict[str, Visits]]:
        begun, request = self._begun, self._request
        groups = begun.plan.groups
        call = Caller(begun.workers, Deadline(), len(groups))
        total = sum(len(group.cases) for group in groups)
        progress = request.watch(total, None, Visited("first call"))
        found: dict[str, dict[str, Visits]] = {}
        with progress:
            for arm in begun.workers:
                own: dict[str, Visits] = {}
                for group in groups:
                    if arm in group.cases:
                        case = _once(group.cases[arm])
                        progress.begin(case)
                        own[group.id] = call.visit(arm, case, not own, None)
                        progress.end(own[group.id].main)
                found[arm] = own
                if own:
                    first = next(iter(own.values()))
                    self._first_s = max(self._first_s, first.records[0].wall_s - first.main.wall_s)
        return found

    def _kept(self, group: Group, visits: Mapping[str, Visits]) -> Group | None:
        """Returns a group with the arms that run it, each with the passes that it has; None with
        fewer than two arms."""
        # A wrong result is shown, with its time.
        reasons = why_excluded(
            {
                arm: msgspec.structs.replace(own.main, verification=None)
                for arm, own in visits.items()
            }
        )
        cases: dict[str, Case] = {}
        for arm, own in visits.items():
            if arm in reasons:
                self._lack(group, arm, reasons[arm])
                continue
            record = own.main
            passes = tuple(name for name in PASSES if name in record.summaries)
            cases[arm] = msgspec.structs.replace(group.cases[arm], passes=passes)
            figures = CaseFigures(record).measured
            memory = figures.get(MEMORY_FORWARD.name, figures.get(MEMORY.name))
            if memory is not None:
                self._memory[group.id][arm] = memory.median
            self._work[group.id].append(work_of(record))
            if record.verification is not None:
                self._verified[group.id][arm] = record.verification
        if len(cases) < 2:
            for arm in cases:
                self._lack(group, arm, "no other arm runs it")
            return None
        calls = {arm: visits[arm].calls for arm in cases}
        case_time_s = self._request.asked.case_time_s
        slow = slow_pair(calls, PASSES[:1], case_time_s)
        self.slow |= {} if slow is None else {group.id: slow}
        slowest = max(visits[arm].main.busy_s for arm in cases)
        self.visit_s[group.id] = slowest + WARMUP_FACTOR * case_time_s
        return group._replace(cases=cases)

    def _lack(self, group: Group, arm: str, reason: str) -> None:
        self.lacking.append(Lacking(group.row.operation, group.inputs, arm, reason))

    def _checked(self) -> dict[str, dict[str, Check]]:
        """Returns how the results of each arm compare with those of the first that has the row, by
        arm and group."""
        request, workers = self._request, self._begun.workers
        request.say(f"comparing the results of {listed(workers)}")
        progress = request.watch(len(self.groups), None, Visited("result"))
        checks: dict[str, dict[str, Check]] = defaultdict(dict)
        assert request.tolerance is not None
        with progress, tempfile.TemporaryDirectory(prefix="opperf-") as folder:
            for number, (id, group) in enumerate(self.groups.items()):
                progress.begin(group.first)
                (first, case), *others = group.cases.items()
                own_verified = self._verified.get(id, {})
                if all(is_decided(own_verified.get(arm)) for arm in group.cases):
                    others = []
                for place, (arm, other) in enumerate(others):
                    own = Path(folder, f"{number}-{place}")
                    own.mkdir()
                    two = {first: workers[first], arm: workers[arm]}
                    pair = _pair_of(case, other)
                    checks[arm][id] = check_pair(pair, two, request.tolerance, own, False)
                progress.end(Record(case=case, id=case.id, status=Status.OK))
        return dict(checks)

    def session(self, order: Order) -> Session:
        """Returns the session of the groups."""
        begun, request = self._begun, self._request
        arms = begun.arms
        first = next(iter(arms))
        return new_session(
            {id: [group.cases.get(arm) for arm in arms] for id, group in self.groups.items()},
            arms,
            {name: begun.environments[name] for name in arms},
            begun.common,
            request.command,
            dict(begun.request.lacking),
            request.axes,
            {
                id: {
                    arm: names
                    for arm, case in group.cases.items()
                    if first in group.cases
                    and arm != first
                    and (names := names_of(group.cases[first], case))
                }
                for id, group in self.groups.items()
            },
            asked={"threads": str(begun.threads.threads)},
            kind="times",
            order=order,
            compares=request.asked.compares,
            framework=arms[first].framework,
            thresholds=request.thresholds,
            seed=request.seed,
            visit_s=self.visit_s,
            start_s=begun.start_s + self._first_s,
            later_start_s=begun.start_s / 10 + self._first_s,
            allocates="case_time_s" not in request.given and not begun.request.asked.quick,
            tolerance=request.tolerance,
            checks=self.checks,
            slow=self.slow,
            implementations=self._implementations(),
            # Different interpreters do not do the same reference work.
            reference_work=not request.asked.no_pace
            and order == "block"
            and len({found.python for found in begun.environments.values()}) == 1,
        )

    def _implementations(self) -> Implementations:
        begun = self._begun
        return Implementations(
            {
                id: Implemented(
                    group.row.operation,
                    group.inputs,
                    {arm: case.label for arm, case in group.cases.items()},
                    self._memory.get(id, {}),
                    group.row.point,
                    next(iter(group.row.tags), ""),
                    max((work.flops or 0.0 for work in self._work[id]), default=0.0),
                    max((work.moved or 0 for work in self._work[id]), default=0),
                    self._verified.get(id, {}),
                )
                for id, group in self.groups.items()
            },
            begun.absent,
            tuple(lack for lack in self.lacking if lack.arm in begun.arms),
            {name: self.numerics[name] for name in begun.arms},
            begun.request.asked.quick,
        )


def _pair_of(base: Case, other: Case) -> Pair:
    """Returns a pair with the passes that both arms have."""
    passes = tuple(name for name in base.passes if name in other.passes)
    one, two = (msgspec.structs.replace(case, passes=passes) for case in (base, other))
    return Pair(one, two, names_of(base, other))


def _told_of_changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Returns settings as they were before the calls, each with what a call changed it to."""
    return {
        name: value if after.get(name) == value else f"{value}, then {after.get(name)}"
        for name, value in before.items()
    }


def _once(case: Case) -> Case:
    once = {"warmup": 0, "runs": 1, "max_time_s": None, "memory": True, "verify": REFERENCE}
    return with_settings(case, once)


def names_of(base: Case, other: Case) -> dict[str, str]:
    """Returns the arguments of another arm's case that the base's has by another name, each with
    that, by the roles that their contents are drawn by."""
    own = {role: name for name, role in _roles(base)}
    return {name: own[role] for name, role in _roles(other) if own.get(role, name) != name}


def _roles(case: Case) -> Iterator[tuple[str, str]]:
    """Yields the arguments whose tensors have a role, each with it."""
    for place, spec in case.tensors():
        if spec.fill.of:
            yield place.partition(".")[0], spec.fill.of.partition(".")[0]
