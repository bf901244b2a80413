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

from opperf.comparison.ab.arms import Order, can_alternate, choose_order, plan_threads
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
from opperf.model import PASSES, Case, Check, Environment, Record, Status
from opperf.plurals import pluralize
from opperf.requests.ab.beginning import facts, say_cores, starter
from opperf.requests.ab.keeping import make_room
from opperf.requests.ab.planning import Planned, along_axes, listed
from opperf.requests.ab.resolving import Work as Visited
from opperf.requests.versus.arms import check_arms
from opperf.requests.versus.planning import Group, plan_groups, random_rows
from opperf.requests.versus.resolving import ResolvedVersus
from opperf.results.figures import CaseFigures
from opperf.results.output import check_output
from opperf.results.roofline import work_of
from opperf.sources.operation_rows import Row
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker


def begin(request: ResolvedVersus) -> SessionWriter | Planned:
    """Begins a comparison; its file, or the plan of a dry run. Raises `OpperfError`; an existing
    file is then unchanged."""
    if not request.asked.dry_run:
        check_output(request.report, request.may_replace)
    with ExitStack() as stack:
        begun = _Beginning(request, stack)
        return Planned(begun.lines()) if request.asked.dry_run else begun.begin()


class _Beginning:
    """A comparison that begins: its arms have started, and their cases are planned."""

    def __init__(self, request: ResolvedVersus, stack: ExitStack) -> None:
        self.request = request
        self.threads = plan_threads(
            request.threads,
            "threads" in request.given,
            tuple(request.arms.values()),
            request.environment,
            len(request.pinning.usable),
        ).threads
        number = self.threads.number
        settings = msgspec.structs.replace(request.selection.settings, threads=number)
        self.common = msgspec.structs.replace(request.selection, settings=settings)
        self.absent = dict(request.absent)
        begun = time.monotonic()
        self.workers, self.environments = self._started(stack)
        self.arms = {name: request.arms[name] for name in self.workers}
        check_arms(self.arms, self.absent)
        self.start_s = (time.monotonic() - begun) / len(self.arms)
        combinations = list(along_axes(self.common, request.axes))
        rows: Sequence[Row] = request.rows
        if self.common.fuzz is not None:
            request.say("trying which extents of the inputs can change")
            rows = random_rows(self.workers, self.arms, rows, combinations[0])
        self.groups, self.lacking = plan_groups(self.workers, self.arms, rows, combinations)
        self.first_s = 0.0
        self.implemented: dict[str, Implemented] = {}
        self.slow: dict[str, SlowPair] = {}
        self.visit_s: dict[str, float] = {}

    def _started(self, stack: ExitStack) -> tuple[dict[str, Worker], dict[str, Environment]]:
        """Returns the workers of the arms that start, and their environments."""
        request = self.request
        start = starter(request.arms, request.framework, request, self.threads.number, memory=True)
        every = {name: stack.enter_context(start(name)) for name in request.arms}
        for worker in every.values():
            # All import at the same time.
            worker.launch(worker.cpus.pinned)
        environments: dict[str, Environment] = {}
        for name, worker in every.items():
            try:
                environments[name] = worker.environment()
            except (WorkerError, FrameworkError) as error:
                self._leave_out(name, one_line(str(error)))
        return {name: every[name] for name in environments}, environments

    def _leave_out(self, arm: str, reason: str) -> None:
        self.absent[arm] = reason
        self.request.say(f"absent: {arm}: {reason}")

    def lines(self) -> tuple[str, ...]:
        """Returns lines on which operator each arm has for each row, and what it lacks."""
        return (
            *(
                f"{group.row.operation} ({group.inputs}): "
                + ", ".join(f"{arm} {case.label}" for arm, case in group.cases.items())
                for group in self.groups.values()
            ),
            *(
                f"not measured: {lack.arm}: {lack.operation} ({lack.inputs}): {lack.reason}"
                for lack in self.lacking
            ),
        )

    def begin(self) -> SessionWriter:
        """Calls each case once and begins the session's file. Raises `UsageError` where no row has
        two arms that run it."""
        request, asked = self.request, self.request.asked
        self._check_some()
        say_cores(self.arms, request, self.threads)
        request.say(f"calling each case once in {listed(self.arms)}")
        before = {name: worker.numerics() for name, worker in self.workers.items()}
        visits = self._called()
        numerics = {
            name: _told_of_changes(own, self.workers[name].numerics())
            for name, own in before.items()
        }
        kept = (
            self._kept(group, {arm: own[id] for arm, own in visits.items() if id in own})
            for id, group in self.groups.items()
        )
        self.groups = {group.id: group for group in kept if group is not None}
        checks = self._checked()
        for worker in self.workers.values():
            worker.end_process()
        self._check_some()
        busy = {name for group in self.groups.values() for name in group.cases}
        for name in self.arms.keys() - busy:
            self._leave_out(name, "it has none of the rows")
        self.arms = {name: arm for name, arm in self.arms.items() if name in busy}
        plan = self._session(self._order(), checks, numerics)
        forecast = forecast_of(plan)
        if not asked.quick:
            check_budget(forecast, request.thresholds, asked.case_time_s, asked.budget_s)
            request.say(
                f"{pluralize(len(self.groups), 'row')} of {listed(self.arms)}: "
                f"{forecast_text(forecast, request.thresholds)}"
            )
        if request.is_default_report and not asked.overwrite:
            for line in make_room(request.report):
                request.say(line)
        return SessionWriter.create(request.report, plan, asked.overwrite)

    def _check_some(self) -> None:
        if not self.groups:
            first = self.lacking[0]
            raise UsageError(
                f"nothing to compare: {first.operation} ({first.inputs}), {first.arm}: "
                f"{first.reason}"
            )

    def _order(self) -> Order:
        """Returns the order of the session: where one process can have all arms their calls
        alternate. Raises `UsageError` if they are to and cannot."""
        asked = self.request.asked.order
        every = [[case.passes for case in group.cases.values()] for group in self.groups.values()]
        are_whole = all(own == [own[0]] * len(self.arms) for own in every)
        if asked == "alternate" and not are_whole:
            raise UsageError("--order alternate: some rows are not in all arms; omit it")
        if asked is None and are_whole and can_alternate(self.arms, self.common):
            return "alternate"
        return choose_order(asked, self.arms, self.common)

    def _called(self) -> dict[str, dict[str, Visits]]:
        """Calls each case once; the visits by arm and group."""
        groups = self.groups.values()
        call = Caller(self.workers, Deadline(), len(groups))
        total = sum(len(group.cases) for group in groups)
        found: dict[str, dict[str, Visits]] = {}
        with self.request.watch(total, None, Visited("first call")) as progress:
            for arm in self.workers:
                own = found[arm] = {}
                for group in groups:
                    if arm in group.cases:
                        case = _once(group.cases[arm])
                        progress.begin(case)
                        own[group.id] = call.visit(arm, case, not own, None)
                        progress.end(own[group.id].main)
                for first in list(own.values())[:1]:
                    later_s = first.main.wall_s
                    self.first_s = max(self.first_s, first.records[0].wall_s - later_s)
        return found

    def _kept(self, group: Group, visits: Mapping[str, Visits]) -> Group | None:
        """Returns a group with the arms that run it, each with the passes that it has; None with
        fewer than two arms."""
        # A wrong result is shown, with its time.
        mains = {
            arm: msgspec.structs.replace(own.main, verification=None) for arm, own in visits.items()
        }
        reasons = why_excluded(mains)
        cases = {
            arm: msgspec.structs.replace(
                group.cases[arm], passes=tuple(name for name in PASSES if name in record.summaries)
            )
            for arm, record in mains.items()
            if arm not in reasons
        }
        if len(cases) < 2:
            reasons |= dict.fromkeys(cases, "no other arm runs it")
        self.lacking += (
            Lacking(group.row.operation, group.inputs, arm, why) for arm, why in reasons.items()
        )
        if len(cases) < 2:
            return None
        case_time_s = self.request.asked.case_time_s
        slow = slow_pair({arm: visits[arm].calls for arm in cases}, PASSES[:1], case_time_s)
        self.slow |= {} if slow is None else {group.id: slow}
        records = {arm: visits[arm].main for arm in cases}
        slowest = max(record.busy_s for record in records.values())
        self.visit_s[group.id] = slowest + WARMUP_FACTOR * case_time_s
        self.implemented[group.id] = _implemented(group, records)
        return group._replace(cases=cases)

    def _checked(self) -> dict[str, dict[str, Check]]:
        """Returns how the results of each arm compare with those of the first that has the row, by
        arm and group."""
        request, workers = self.request, self.workers
        request.say(f"comparing the results of {listed(workers)}")
        checks: dict[str, dict[str, Check]] = defaultdict(dict)
        assert request.tolerance is not None
        with (
            request.watch(len(self.groups), None, Visited("result")) as progress,
            tempfile.TemporaryDirectory(prefix="opperf-") as folder,
        ):
            for number, (id, group) in enumerate(self.groups.items()):
                progress.begin(group.first)
                (first, case), *others = group.cases.items()
                verified = self.implemented[id].verified
                if all(is_decided(verified.get(arm)) for arm in group.cases):
                    others = []
                for place, (arm, other) in enumerate(others):
                    own = Path(folder, f"{number}-{place}")
                    own.mkdir()
                    two = {first: workers[first], arm: workers[arm]}
                    pair = _pair_of(case, other)
                    checks[arm][id] = check_pair(pair, two, request.tolerance, own, False)
                progress.end(Record(case=case, id=case.id, status=Status.OK))
        return dict(checks)

    def _session(
        self,
        order: Order,
        checks: dict[str, dict[str, Check]],
        numerics: Mapping[str, dict[str, str]],
    ) -> Session:
        """Returns the session of the groups."""
        request, asked, arms = self.request, self.request.asked, self.arms
        first = next(iter(arms))
        return new_session(
            {id: [group.cases.get(arm) for arm in arms] for id, group in self.groups.items()},
            arms,
            {name: self.environments[name] for name in arms},
            self.common,
            request.command,
            dict(request.lacking),
            request.axes,
            {
                id: {
                    arm: names
                    for arm, case in group.cases.items()
                    if first in group.cases
                    and arm != first
                    and (names := _names_of(group.cases[first], case))
                }
                for id, group in self.groups.items()
            },
            asked=facts(request, self.threads, order),
            kind="times",
            order=order,
            compares=asked.compares,
            framework=arms[first].framework,
            thresholds=request.thresholds,
            seed=request.seed,
            visit_s=self.visit_s,
            start_s=self.start_s + self.first_s,
            later_start_s=self.start_s / 10 + self.first_s,
            allocates="case_time_s" not in request.given and not asked.quick,
            tolerance=request.tolerance,
            checks=checks,
            slow=self.slow,
            implementations=Implementations(
                self.implemented,
                self.absent,
                tuple(lack for lack in self.lacking if lack.arm in arms),
                {name: numerics[name] for name in arms},
                asked.quick,
            ),
            # Different interpreters do not do the same reference work.
            reference_work=not asked.no_pace
            and order == "block"
            and len({found.python for found in self.environments.values()}) == 1,
        )


def _implemented(group: Group, records: Mapping[str, Record]) -> Implemented:
    """Returns the facts of a group, of the first call of each arm."""
    figures = {arm: CaseFigures(record).measured for arm, record in records.items()}
    memory = {
        arm: own.get(MEMORY_FORWARD.name, own.get(MEMORY.name)) for arm, own in figures.items()
    }
    work = [work_of(record) for record in records.values()]
    return Implemented(
        group.row.operation,
        group.inputs,
        {arm: record.case.label for arm, record in records.items()},
        {arm: figure.median for arm, figure in memory.items() if figure is not None},
        group.row.point,
        next(iter(group.row.tags), ""),
        max(own.flops or 0.0 for own in work),
        max(own.moved or 0 for own in work),
        {arm: own.verification for arm, own in records.items() if own.verification is not None},
    )


def _pair_of(base: Case, other: Case) -> Pair:
    """Returns a pair with the passes that both arms have."""
    passes = tuple(name for name in base.passes if name in other.passes)
    one, two = (msgspec.structs.replace(case, passes=passes) for case in (base, other))
    return Pair(one, two, _names_of(base, other))


def _told_of_changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Returns settings as they were before the calls, each with what a call changed it to."""
    return {
        name: value if after.get(name) == value else f"{value}, then {after.get(name)}"
        for name, value in before.items()
    }


def _once(case: Case) -> Case:
    once = {"warmup": 0, "runs": 1, "max_time_s": None, "memory": True, "verify": REFERENCE}
    return with_settings(case, once)


def _names_of(base: Case, other: Case) -> dict[str, str]:
    """Returns the arguments of another arm's case that the base's has by another name, each with
    that, by the roles that their contents are drawn by."""
    own = {role: name for name, role in _roles(base)}
    return {name: own[role] for name, role in _roles(other) if own.get(role, name) != name}


def _roles(case: Case) -> Iterator[tuple[str, str]]:
    """Yields the arguments whose tensors have a role, each with it."""
    for place, spec in case.tensors():
        if spec.fill.of:
            yield place.partition(".")[0], spec.fill.of.partition(".")[0]
