"""Begins a comparison of implementations: the arms start, have an operator for each row, and call
each once, which is measured by an ordinary session."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from opperf.comparison.ab.arms import ThreadPlan, choose_order, plan_threads, selection_of
from opperf.comparison.ab.checking import check_pair
from opperf.comparison.ab.deadline import Deadline
from opperf.comparison.ab.forecast import check_budget, forecast_of, forecast_text
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR, Caller, why_excluded
from opperf.comparison.ab.session import Implementations, Implemented, Lacking, Session
from opperf.comparison.ab.session_file import SessionWriter, new_session
from opperf.comparison.ab.slow_calls import SlowPair, Visits, slow_pair
from opperf.errors import FrameworkError, OpperfError, UsageError, WorkerError, one_line
from opperf.instruments.memory import MEMORY, MEMORY_FORWARD
from opperf.model import (
    PASSES,
    Case,
    Check,
    Environment,
    OperatorTarget,
    Record,
    Settings,
    Status,
    TensorSpec,
    map_tensors,
)
from opperf.plurals import pluralize
from opperf.requests.ab.beginning import say_cores, starter
from opperf.requests.ab.keeping import make_room
from opperf.requests.ab.planning import along_axes, listed
from opperf.requests.ab.resolving import Work
from opperf.requests.versus.arms import check_arms
from opperf.requests.versus.resolving import ResolvedVersus
from opperf.results.figures import CaseFigures
from opperf.results.output import check_output
from opperf.results.text import inputs_text
from opperf.rules.values import in_requested_dtype
from opperf.sources.operation_rows import Row
from opperf.sources.selecting import Selection
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker

COMPILED = ("compile", "jit")
"""Names of a framework's compiled mode, of which `compile` stands for any."""


class Group(NamedTuple):
    """The cases of a row, by arm, with one value of each axis."""

    row: Row
    cases: dict[str, Case]
    """Of two arms at least."""

    @property
    def first(self) -> Case:
        return next(iter(self.cases.values()))

    @property
    def inputs(self) -> str:
        """The inputs by role."""
        return _inputs_text(self.row, self.first.settings.dtype)

    @property
    def id(self) -> str:
        """That of the first arm's case, and how many arms' are with it."""
        return "-".join(dict.fromkeys(case.id for case in self.cases.values()))


class Plan(NamedTuple):
    """The groups, and what is not measured."""

    groups: list[Group]
    lacking: list[Lacking]
    environments: dict[str, Environment]
    numerics: dict[str, dict[str, str]]
    start_s: float


def _inputs_text(row: Row, dtype: str) -> str:
    """Returns the inputs of a row by role, in a requested dtype."""

    def shown(spec: TensorSpec) -> TensorSpec:
        fill = msgspec.structs.replace(spec.fill, of="")
        return msgspec.structs.replace(in_requested_dtype(spec, dtype), fill=fill)

    roles = {role: map_tensors(value, shown) for role, value in row.roles.items()}
    settings = Settings(dtype=dtype)
    return inputs_text(Case(OperatorTarget("", row.operation), roles, settings))


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
        self.plan = self._planned(environments, start_s)

    def _planned(self, environments: dict[str, Environment], start_s: float) -> Plan:
        rows = self.request.rows
        found: dict[tuple[int, int], dict[str, Case]] = defaultdict(dict)
        reasons: dict[tuple[int, int], dict[str, str]] = defaultdict(dict)
        combinations = list(along_axes(self.common, self.session.axes))
        for name, arm in self.arms.items():
            for number, common in enumerate(combinations):
                made, why = self._of_arm(name, selection_of(arm, common))
                for place in range(len(rows)):
                    if place in made:
                        found[number, place][name] = made[place]
                    else:
                        reasons[number, place][name] = why[place]
        numerics = {name: worker.numerics() for name, worker in self.workers.items()}
        groups: dict[str, Group] = {}
        lacking: dict[Lacking, None] = {}
        for number, place in itertools.product(range(len(combinations)), range(len(rows))):
            row, cases = rows[place], found[number, place]
            inputs = _inputs_text(row, combinations[number].settings.dtype)
            lacks = reasons[number, place]
            if len(cases) == 1:
                lacks |= dict.fromkeys(cases, "no other arm has it")
            for name, reason in lacks.items():
                lacking[Lacking(row.operation, inputs, name, reason)] = None
            if len(cases) > 1:
                group = Group(row, cases)
                groups.setdefault(group.id, group)
        return Plan(list(groups.values()), list(lacking), environments, numerics, start_s)

    def _of_arm(self, name: str, selection: Selection) -> tuple[dict[int, Case], dict[int, str]]:
        """Returns an arm's cases of one combination of settings, by the row's place, and why it has
        no others. Raises `UsageError` for a mode or namespace that it lacks."""
        worker, arm, rows = self.workers[name], self.arms[name], self.request.rows
        dtype = selection.settings.dtype
        try:
            choices = worker.choices()
            if dtype not in choices["dtype"]:
                return {}, dict.fromkeys(range(len(rows)), f"{arm.framework} has no {dtype}")
            resolved = worker.resolve_selection(_with_mode(selection, choices["mode"]))
            made = worker.operation_cases(rows, resolved, arm.namespace)
        except (WorkerError, FrameworkError):
            raise
        except OpperfError as error:
            raise UsageError(f"--among {name}: {error}") from error
        return made.cases, made.reasons

    def begin(self) -> SessionWriter:
        """Calls each case once and begins the session's file. Raises `UsageError` where no row has
        two arms that run it."""
        request, session = self.request, self.session
        check_output(session.report, session.may_replace)
        say_cores(self.arms, session, self.threads.threads)
        session.say(f"calling each case once in {listed(self.arms)}")
        made = _Rehearsed(self)
        if not made.groups:
            raise UsageError(f"nothing to compare: {_why_nothing(made.lacking)}")
        order = choose_order(session.asked.order, self.arms, self.common)
        plan = made.session(order)
        forecast = forecast_of(plan)
        if not request.asked.quick:
            check_budget(
                forecast, session.thresholds, session.asked.case_time_s, session.asked.budget_s
            )
            session.say(
                f"{pluralize(len(made.groups), 'row')} of {listed(self.arms)}: "
                f"{forecast_text(forecast, session.thresholds)}"
            )
        if session.is_default_report and not request.asked.overwrite:
            for line in make_room(session.report):
                session.say(line)
        return SessionWriter.create(session.report, plan, request.asked.overwrite)


def _with_mode(selection: Selection, modes: Sequence[str]) -> Selection:
    """Returns a selection with the framework's own compiled mode where any is asked for."""
    mode = selection.settings.mode
    if mode != COMPILED[0] or mode in modes:
        return selection
    own = next((name for name in COMPILED if name in modes), mode)
    settings = msgspec.structs.replace(selection.settings, mode=own)
    return msgspec.structs.replace(selection, settings=settings)


def _why_nothing(lacking: Sequence[Lacking]) -> str:
    first = lacking[0]
    return f"{first.operation} ({first.inputs}), {first.arm}: {first.reason}"


class _Rehearsed:
    """The groups whose cases were called once in each arm."""

    def __init__(self, begun: Beginning) -> None:
        self._begun, self._request = begun, begun.session
        self.lacking = list(begun.plan.lacking)
        self._memory: dict[str, dict[str, float]] = defaultdict(dict)
        self._first_s = 0.0
        self.slow: dict[str, SlowPair] = {}
        self.visit_s: dict[str, float] = {}
        visits = self._call_all()
        self.numerics = {
            name: _told_of_changes(before, begun.workers[name].numerics())
            for name, before in begun.plan.numerics.items()
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
        progress = request.watch(total, None, Work("first call"))
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
        reasons = why_excluded({arm: own.main for arm, own in visits.items()})
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
        progress = request.watch(len(self.groups), None, Work("result"))
        checks: dict[str, dict[str, Check]] = defaultdict(dict)
        assert request.tolerance is not None
        with progress, tempfile.TemporaryDirectory(prefix="opperf-") as folder:
            for number, (id, group) in enumerate(self.groups.items()):
                progress.begin(group.first)
                (first, case), *others = group.cases.items()
                for place, (arm, other) in enumerate(others):
                    own = Path(folder, f"{number}-{place}")
                    own.mkdir()
                    two = {first: workers[first], arm: workers[arm]}
                    pair = _pair_of(case, other)
                    checks[arm][id] = check_pair(pair, two, request.tolerance, own, False)
                progress.end(Record(case=case, id=case.id, status=Status.OK))
        return dict(checks)

    def session(self, order: str) -> Session:
        """Returns the session of the groups."""
        begun, request = self._begun, self._request
        arms = begun.arms
        first = next(iter(arms))
        return new_session(
            {id: [group.cases.get(arm) for arm in arms] for id, group in self.groups.items()},
            arms,
            begun.plan.environments,
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
            framework=request.framework,
            thresholds=request.thresholds,
            seed=request.seed,
            visit_s=self.visit_s,
            start_s=begun.plan.start_s + self._first_s,
            later_start_s=begun.plan.start_s / 10 + self._first_s,
            allocates="case_time_s" not in request.given and not begun.request.asked.quick,
            tolerance=request.tolerance,
            checks=self.checks,
            slow=self.slow,
            implementations=self._implementations(),
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
                )
                for id, group in self.groups.items()
            },
            begun.absent,
            tuple(self.lacking),
            self.numerics,
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
    return with_settings(case, {"warmup": 0, "runs": 1, "max_time_s": None, "memory": True})


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
