"""Begins a session: its arms start, have the same cases, and call each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType, NoneType
from typing import Any

import msgspec

from opperf.comparison.ab.arms import (
    COARSE_BLOCKS,
    ArmSpec,
    Order,
    ThreadPlan,
    Threads,
    choose_order,
    plan_threads,
    settings_of,
    worker_of,
)
from opperf.comparison.ab.blocks import Start
from opperf.comparison.ab.checking import check_results, with_lacking
from opperf.comparison.ab.forecast import (
    Forecast,
    check_budget,
    coarse_saving_s,
    forecast_of,
    forecast_text,
)
from opperf.comparison.ab.loaded import are_builds, check_loaded
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.process import reasons_of
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR, rehearse
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter, new_session
from opperf.comparison.ab.session_plan import Fact
from opperf.errors import UsageError
from opperf.frameworks.mentioned import report_choice
from opperf.metrics import counts, process_settings
from opperf.model import DECLARED, DEFAULTS, Check, Difference, Environment, Settings
from opperf.plurals import pluralize
from opperf.requests.ab.counting import announce, kind_of
from opperf.requests.ab.keeping import make_room
from opperf.requests.ab.planning import (
    Planned,
    case_table,
    describe,
    listed,
    omitted,
    pair_plans,
    plan_arms,
)
from opperf.requests.ab.resolving import ResolvedAb, ResolvedSession, Work
from opperf.requests.declaring import declared, value_of
from opperf.requests.places import write_lock
from opperf.results.kept import profile_folder
from opperf.results.output import check_output
from opperf.shares import share_text
from opperf.worker.client import Worker


def starter(
    arms: Mapping[str, ArmSpec],
    framework: str,
    request: ResolvedSession,
    threads: int | None = None,
    reference_work: bool = False,
    memory: bool = False,
) -> Start:
    """Returns a function that makes workers of the arms; `threads` are for an arm that sets
    none."""
    cpus = request.pinning.choose(_core_count(arms, request, threads))
    own_modules = are_builds(arms.values())

    def start(arm: str) -> Worker:
        request.pinning.keep_off(cpus)
        return worker_of(
            _unprofiled(arms[arm]),
            framework,
            request.environment,
            threads,
            reference_work,
            cpus,
            own_modules,
            memory,
        )

    return start


def _unprofiled(arm: ArmSpec) -> ArmSpec:
    """Returns an arm whose worker is not under Valgrind, which takes half a minute."""
    if not counts(arm.settings.get("profiler", "")):
        return arm
    settings = {name: value for name, value in arm.settings.items() if name != "profiler"}
    return msgspec.structs.replace(arm, settings=settings)


def _core_count(arms: Mapping[str, ArmSpec], request: ResolvedSession, threads: int | None) -> int:
    """Returns the most cores that an arm's workers need, so that the arms differ in nothing
    else."""
    common = Settings(threads=threads)
    return max(
        request.pinning.core_count(process_settings(settings_of(arm, common)), request.environment)
        for arm in arms.values()
    )


def say_cores(arms: Mapping[str, ArmSpec], request: ResolvedSession, threads: Threads) -> None:
    """Says which cores the arms' workers are pinned to."""
    line, coarse = (
        request.pinning.describe([_core_count(arms, request, number)])
        for number in (threads.number, None)
    )
    if line and threads.coarse and coarse != line:
        line = f"{line}; in the coarse look {coarse}"
    if line:
        request.say(line)


def begin(request: ResolvedAb) -> SessionWriter | Planned:
    """Begins a session; its file, or the plan of a dry run. Raises `OpperfError` if it cannot
    start; an existing file is then unchanged."""
    report_choice(request.choice, request.say)
    kind = kind_of(request)
    if kind == "counts":
        number = request.threads.number if "threads" in request.given else DEFAULTS["threads"]
        threads = ThreadPlan(Threads(number))
    else:
        threads = plan_threads(
            request.threads,
            "threads" in request.given,
            tuple(request.arms.values()),
            request.environment,
            len(request.pinning.usable),
        )
    start = starter(request.arms, request.framework, request, threads.threads.number)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(start(name)) for name in request.arms}
        return _Beginning(request, workers, threads, kind).begin()


class _Beginning:
    def __init__(
        self, request: ResolvedAb, workers: Mapping[str, Worker], threads: ThreadPlan, kind: str
    ) -> None:
        self.request, self.workers, self.threads, self.kind = request, workers, threads, kind
        settings = msgspec.structs.replace(
            request.selection.settings, threads=threads.threads.number
        )
        self.common = msgspec.structs.replace(request.selection, settings=settings)
        self.thresholds = msgspec.structs.replace(
            request.thresholds, coarse_blocks=COARSE_BLOCKS if threads.threads.coarse else 0
        )
        self.planned = plan_arms(workers, self.common, request)
        if not request.asked.dry_run:
            # A wrong name is reported before a file that is in the way.
            check_output(request.report, request.may_replace)
        if kind != "counts":
            say_cores(request.arms, request, threads.threads)
        self.loaded = {name: arm.loaded for name, arm in self.planned.items()}
        self.same_files = check_loaded(request.arms, self.loaded)
        plans = {name: arm.plans for name, arm in self.planned.items()}
        self.pairing = pair_plans(request, self.common, plans)
        self.omitted = omitted(plans)
        self.order = choose_order(request.asked.order, request.arms, self.common)

    def begin(self) -> SessionWriter | Planned:
        request, pairing = self.request, self.pairing
        forecast = self._forecast()
        lines = describe(request, pairing, self._expected(forecast), self._notes())
        if self.kind != "counts":
            self._check_budget(forecast)
        if request.asked.dry_run:
            return Planned(lines, case_table(pairing))
        for line in lines:
            request.say(line)
        if self.kind == "counts":
            return self._create(self._session(pairing.pairs, {}, {}, absences=pairing.alone))
        session = self._rehearsed(forecast)
        if self.kind == "times":
            self._say_runs(session)
        return self._create(session)

    def _expected(self, forecast: Forecast) -> str:
        if self.kind == "counts":
            return ", counted once in each arm"
        # After each case was called once, the forecast is of what was measured here.
        is_told = self.request.asked.dry_run and self.kind == "times"
        return f": {forecast_text(forecast, self.thresholds)}" if is_told else ""

    def _notes(self) -> list[str]:
        return [
            *filter(None, [self.same_files]),
            *([str(self.threads)] if self.kind == "times" else []),
            *(["Order: calls of the arms alternate"] if self.order == "alternate" else []),
            *announce(self.request, self.pairing.pairs),
            *(f"not measured: {name}: {reason}" for name, reason in self.omitted.items()),
        ]

    def _forecast(self) -> Forecast:
        case_time_s = self.request.asked.case_time_s
        return Forecast(
            dict.fromkeys((pair.id for pair in self.pairing.pairs), WARMUP_FACTOR * case_time_s),
            max(arm.start_s for arm in self.planned.values()),
            max(arm.later_start_s for arm in self.planned.values()),
            coarse_saving_s=coarse_saving_s(case_time_s),
            n_arms=len(self.request.arms),
            order=self.order,
        )

    def _check_budget(self, forecast: Forecast) -> None:
        asked = self.request.asked
        check_budget(forecast, self.thresholds, asked.case_time_s, asked.budget_s)

    def _rehearsed(self, forecast: Forecast) -> Session:
        request, pairs = self.request, self.pairing.pairs
        every = "both arms" if len(request.arms) == 2 else "all arms"
        if pairs:
            request.say(f"calling each case once in {every}")
        progress = request.watch(len(self.workers) * len(pairs), None, Work("first call"))
        case_time_s, deadline = request.asked.case_time_s, request.deadline
        found = rehearse(pairs, self.workers, case_time_s, progress, deadline, request.loss)
        excluded = reasons_of(found.excluded)
        absences = (*self.pairing.alone, *found.excluded)
        if not found.pairs and not any(absence.is_missing for absence in absences):
            first, reason = next(iter(excluded.items()))
            raise UsageError(f"no case runs in {every}, e.g. {first}: {reason}")
        environments = {name: arm.environment for name, arm in self.planned.items()}
        pythons = {environment.python for environment in environments.values()}
        return self._session(
            found.pairs,
            environments,
            excluded,
            lacking=found.lacking,
            thresholds=self.thresholds,
            seed=request.seed,
            absences=absences,
            gate=request.gate,
            visit_s=found.visit_s,
            start_s=forecast.start_s + found.first_s,
            later_start_s=forecast.later_start_s + found.first_s,
            allocates="case_time_s" not in request.given,
            slow=found.slow,
            # Different interpreters do not do the same reference work.
            reference_work=not request.asked.no_pace
            and self.order == "block"
            and len(pythons) == 1,
        )

    def _session(
        self,
        pairs: Sequence[Pair],
        environments: Mapping[str, Environment],
        excluded: Mapping[str, str],
        lacking: Mapping[str, Mapping[str, Sequence[Difference]]] = MappingProxyType({}),
        **plan: Any,
    ) -> Session:
        """Returns the session of some pairs, of which `lacking` has the passes that one arm alone
        has, by arm and pair; `plan` are fields of `SessionPlan`."""
        request, arms = self.request, list(self.request.arms)
        checks: dict[str, dict[str, Check]] = {}
        if request.tolerance is not None and pairs:
            request.say(f"comparing the results of {listed(arms)}")
            progress = request.watch(len(pairs), None, Work("result"))
            # What is not timed has no calls after those.
            several = self.kind != "times" or request.gate is not None
            checks = check_results(pairs, self.workers, request.tolerance, progress, several)
        return new_session(
            {pair.id: pair.cases for pair in pairs},
            request.arms,
            environments,
            self.common,
            request.command,
            {**self.omitted, **excluded},
            request.axes,
            {
                pair.id: {
                    arm: one.names
                    for arm, one in zip(arms[1:], pair.each, strict=True)
                    if one.names
                }
                for pair in pairs
            },
            asked=facts(request, self.threads.threads, self.order),
            kind=self.kind,
            order=self.order,
            loaded={name: one.files for name, one in self.loaded.items()},
            same_files=self.same_files,
            compares=request.asked.compares,
            framework=request.framework,
            tolerance=request.tolerance,
            checks=with_lacking(checks, lacking),
            **plan,
        )

    def _say_runs(self, session: Session) -> None:
        forecast = forecast_of(session)
        runs, planned = len(session.plan.groups), len(self.pairing.pairs)
        of_all = "" if runs == planned else f" of {planned}"
        of_each = f"{'both ' if len(self.workers) == 2 else ''}{listed(self.workers)}"
        if not runs:
            self.request.say(f"no case{of_all} runs in {of_each}: nothing to measure")
        else:
            verb = "runs" if runs == 1 else "run"
            line = f"{pluralize(runs, 'case')}{of_all} {verb} in {of_each}"
            self.request.say(f"{line}: {forecast_text(forecast, self.thresholds)}")
        self._check_budget(forecast)

    def _create(self, session: Session) -> SessionWriter:
        """Begins the file of a session, once an earlier one of the default name is kept."""
        request = self.request
        if request.is_default_report and not request.asked.overwrite:
            for line in make_room(request.report):
                request.say(line)
        overwrite = request.asked.overwrite
        writer = SessionWriter.create(request.report, session, overwrite, request.node)
        write_lock(request.report, session.header.interpreters)
        if self.kind == "counts" or request.gate is not None:
            profile_folder(request.report, is_new=True)
        return writer


ARMS_OF_VERSUS = frozenset({"among", "python"})
"""Fields of arms that a session is begun with as texts; those of `ab` are compared as a whole."""


def facts(
    request: ResolvedSession, threads: Threads, order: Order | None = None
) -> dict[str, Fact]:
    """Returns what a session is begun with, by field, and is resumed with too."""
    thresholds, settings = request.thresholds, request.selection.settings
    fields = declared(type(request.asked))
    of_plan: dict[str, Fact] = {
        "framework": request.framework,
        "order": order or request.asked.order,
        "threads": str(threads),
        "threshold": thresholds.threshold,
        "same_within": thresholds.same_within,
        **dict.fromkeys(("blocks", "until_settled"), thresholds.block_cap),
    }
    found: dict[str, Fact] = {}
    for name, field in fields.items():
        if not field.is_fixed and name not in ARMS_OF_VERSUS:
            continue
        value = value_of(request.asked, name)
        if name in DECLARED:
            value = request.axes.get(name) or getattr(settings, name)
        is_plain = isinstance(value, (bool, int, float, str, NoneType))
        # The texts of shares are shorter than their digits.
        is_text = not is_plain or field.option.text is share_text
        found[name] = ", ".join(field.texts(value)) if is_text else value
    return found | {name: value for name, value in of_plan.items() if name in fields}
