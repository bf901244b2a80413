"""Starts a session, or resumes one: its arms start, and have the same cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any

import msgspec

from opperf.commands.ab.gate_checks import announce, check_counting
from opperf.commands.ab.keeping import make_room
from opperf.commands.ab.planning import (
    case_table,
    name_arm_in_errors,
    omitted,
    pair_plans,
    plan_arms,
    show_pairs,
)
from opperf.commands.ab.request import Request, Work
from opperf.comparison.ab.absences import reasons_of
from opperf.comparison.ab.arms import (
    COARSE_BLOCKS,
    ArmSpec,
    ThreadPlan,
    Threads,
    option_of,
    plan_threads,
    settings_of,
    with_threads,
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
    processes,
)
from opperf.comparison.ab.gate import left_to_count
from opperf.comparison.ab.grouping import new_session
from opperf.comparison.ab.loaded import are_builds, check_loaded
from opperf.comparison.ab.order import choose_order
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR, rehearse
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter
from opperf.errors import RunFileError, UsageError
from opperf.execution.execute import check_comparable, check_environment
from opperf.metrics import process_settings
from opperf.model import (
    DECLARED,
    DIFFERENT,
    Check,
    Difference,
    Environment,
    Settings,
    Tolerance,
)
from opperf.plurals import pluralize
from opperf.requests.installing import write_lock
from opperf.requests.keeping import check_axes, check_same, check_selection, spelling
from opperf.results.kept import profile_folder
from opperf.results.output import check_output
from opperf.shares import share_text
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker


def starter(
    arms: Mapping[str, ArmSpec],
    framework: str,
    request: Request,
    threads: int | None = None,
    reference_work: bool = False,
) -> Start:
    """Returns a function that makes workers of the arms; `threads` are for an arm that sets
    none."""
    cpus = request.pinning.choose(_core_count(arms, request, threads))
    own_modules = are_builds(arms.values())

    def start(arm: str) -> Worker:
        request.pinning.keep_off(cpus)
        return worker_of(
            arms[arm],
            framework,
            request.environment,
            threads,
            reference_work,
            cpus,
            own_modules,
        )

    return start


def _core_count(arms: Mapping[str, ArmSpec], request: Request, threads: int | None) -> int:
    """Returns the most cores that an arm's workers need, so that the arms differ in nothing
    else."""
    common = Settings(threads=threads)
    return max(
        request.pinning.core_count(process_settings(settings_of(arm, common)), request.environment)
        for arm in arms.values()
    )


def say_cores(arms: Mapping[str, ArmSpec], request: Request, threads: Threads) -> None:
    """Says which cores the arms' workers are pinned to."""
    line, coarse = (
        request.pinning.describe([_core_count(arms, request, number)])
        for number in (threads.number, None)
    )
    if line and threads.coarse and coarse != line:
        line = f"{line}; in the coarse look {coarse}"
    if line:
        request.say(line)


def begin(request: Request) -> SessionWriter | None:
    """Starts a session; its file, or None for a dry run. Raises `OpperfError` if it cannot start;
    an existing file is then unchanged."""
    threads = _plan_threads(request, request.arms)
    start = starter(request.arms, request.framework, request, threads.threads.number)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(start(name)) for name in request.arms}
        return _begin(request, workers, threads)


def _begin(
    request: Request, workers: Mapping[str, Worker], planned_threads: ThreadPlan
) -> SessionWriter | None:
    say, threads = request.say, planned_threads.threads
    thresholds = msgspec.structs.replace(
        request.thresholds, coarse_blocks=COARSE_BLOCKS if threads.coarse else 0
    )
    common = with_threads(request.selection, threads.number)
    planned = plan_arms(workers, common, request)
    if not request.dry_run:
        # A wrong name is reported before a file that is in the way.
        check_output(request.report, request.may_replace(request.report))
    say_cores(request.arms, request, threads)
    loaded = {name: arm.loaded for name, arm in planned.items()}
    same_files = check_loaded(request.arms, loaded)
    plans = {name: arm.plans for name, arm in planned.items()}
    pairing = pair_plans(request, common, plans)
    order = choose_order(request.order, request.arms, common)
    case_time_s = request.case_time_s
    visit_s = dict.fromkeys((pair.id for pair in pairing.pairs), WARMUP_FACTOR * case_time_s)
    start_s = max(arm.start_s for arm in planned.values())
    later_start_s = max(arm.later_start_s for arm in planned.values())
    forecast = Forecast(
        visit_s,
        start_s,
        later_start_s,
        coarse_saving_s=coarse_saving_s(case_time_s),
        n_arms=len(request.arms),
        order=order,
    )
    # After each case was called once, the forecast is of what was measured here.
    is_told = request.dry_run and not request.only_checks
    expected = f": {forecast_text(forecast, thresholds)}" if is_told else ""
    notes = [
        *filter(None, [same_files]),
        *([] if request.only_checks else [str(planned_threads)]),
        *(["Order: calls of the arms alternate"] if order == "alternate" else []),
        *announce(request, pairing.pairs),
        *(f"not measured: {name}: {reason}" for name, reason in omitted(plans).items()),
    ]
    show_pairs(request, pairing, expected, notes)
    check_budget(forecast, thresholds, case_time_s, request.budget_s)
    if request.dry_run:
        print(case_table(pairing))
        return None
    if pairing.pairs:
        say(f"calling each case once in {every_arm(request)}")
    environments = {name: arm.environment for name, arm in planned.items()}
    calls = len(workers) * len(pairing.pairs)
    progress = request.make_progress(calls, Work("first call"))
    rehearsal = rehearse(
        pairing.pairs, workers, case_time_s, progress, request.deadline, request.loss
    )
    excluded = reasons_of(rehearsal.excluded)
    absences = (*pairing.alone, *rehearsal.excluded)
    if not rehearsal.pairs and not any(absence.is_missing for absence in absences):
        first, reason = next(iter(excluded.items()))
        raise UsageError(f"no case runs in {every_arm(request)}, e.g. {first}: {reason}")
    session = make_session(
        request,
        common,
        rehearsal.pairs,
        workers,
        environments,
        {**omitted(plans), **excluded},
        rehearsal.lacking,
        kind="checks" if request.only_checks else "times",
        thresholds=thresholds,
        order=order,
        seed=request.seed,
        absences=absences,
        gate=request.gate,
        visit_s=rehearsal.visit_s,
        start_s=start_s + rehearsal.first_s,
        later_start_s=later_start_s + rehearsal.first_s,
        allocates="max_time_s" not in request.given,
        slow=rehearsal.slow,
        # Different interpreters do not do the same reference work.
        loaded={name: one.files for name, one in loaded.items()},
        same_files=same_files,
        reference_work=request.reference_work
        and order == "block"
        and len({environment.python for environment in environments.values()}) == 1,
    )
    if request.only_checks:
        return create(request, session)
    forecast = forecast_of(session)
    runs = len(session.plan.groups)
    of_all = "" if runs == len(pairing.pairs) else f" of {len(pairing.pairs)}"
    verb = "runs" if runs == 1 else "run"
    of_each = f"{'both ' if len(workers) == 2 else ''}{listed(workers)}"
    line = f"{pluralize(runs, 'case')}{of_all} {verb} in {of_each}"
    if not runs:
        say(f"no case{of_all} runs in {of_each}: nothing to measure")
    else:
        say(f"{line}: {forecast_text(forecast, thresholds)}")
    check_budget(forecast, thresholds, case_time_s, request.budget_s)
    writer = create(request, session)
    if request.gate is not None:
        profile_folder(request.report, is_new=True)
    return writer


def every_arm(request: Request) -> str:
    """Returns the words for all arms."""
    return "both arms" if len(request.arms) == 2 else "all arms"


def listed(names: Iterable[str]) -> str:
    """Returns names as `A and B`, or `A, B and C`."""
    *others, last = names
    return f"{', '.join(others)} and {last}"


def make_session(
    request: Request,
    common: Selection,
    pairs: Sequence[Pair],
    workers: Mapping[str, Worker],
    environments: Mapping[str, Environment],
    excluded: Mapping[str, str],
    lacking: Mapping[str, Mapping[str, Sequence[Difference]]] = MappingProxyType({}),
    **plan: Any,
) -> Session:
    """Returns the session of some pairs, of which `lacking` has the passes that one arm alone has,
    by arm and pair; `plan` are fields of `SessionPlan`."""
    checks: dict[str, dict[str, Check]] = {}
    if request.tolerance is not None and pairs:
        request.say(f"comparing the results of {listed(request.arms)}")
        progress = request.make_progress(len(pairs), Work("result"))
        # What is not timed has no calls after those.
        several = plan["kind"] != "times" or request.gate is not None
        checks = check_results(pairs, workers, request.tolerance, progress, several)
    return new_session(
        {pair.id: dict(zip(request.arms, pair.cases, strict=True)) for pair in pairs},
        request.arms,
        environments,
        common,
        request.command,
        excluded,
        request.axes,
        {
            pair.id: {
                arm: one.names
                for arm, one in zip(list(request.arms)[1:], pair.each, strict=True)
                if one.names
            }
            for pair in pairs
        },
        compares=request.compares,
        framework=request.framework,
        tolerance=request.tolerance,
        checks=with_lacking(checks, lacking),
        **plan,
    )


def create(request: Request, session: Session) -> SessionWriter:
    """Begins the file of a session, once an earlier one of the default name is kept."""
    if request.is_default_report and not request.overwrite:
        for line in make_room(request.report):
            request.say(line)
    writer = SessionWriter.create(request.report, session, request.overwrite, request.node)
    write_lock(request.report, session.header.interpreters)
    return writer


def _plan_threads(request: Request, arms: Mapping[str, ArmSpec]) -> ThreadPlan:
    return plan_threads(
        request.threads,
        "threads" in request.given,
        tuple(arms.values()),
        request.environment,
        len(request.pinning.usable),
    )


SETTINGS = {name: setting.option for name, setting in DECLARED.items() if name != "threads"} | {
    "max_time_s": "--case-time"
}
"""Settings of both arms, each with its option of `ab`; of `--threads` they are a part only."""

THRESHOLDS = {
    "threshold": "threshold",
    "same_within": "same_within",
    "control_blocks": "control_blocks",
    "until_settled": "block_cap",
    "blocks": "block_cap",
}
"""Options that set a field of `Thresholds`."""


def resume(request: Request, session: Session) -> SessionWriter | None:
    """Resumes a session of times; its file, or None for a dry run. Raises `RunFileError` for other
    arms, thresholds, cases or environments."""
    plan = session.plan
    _check_same(session, request)
    if left_to_count(session):
        check_counting()
    if "threads" in request.given:
        planned = _plan_threads(request, plan.by_name)
        check_same("--threads", str(session.threads), str(planned.threads))
    say_cores(plan.by_name, request, session.threads)
    start = starter(plan.by_name, plan.framework, request, session.threads.number)
    # Another node of its kind may go on.
    check = check_comparable if request.node else check_environment
    found: dict[str, Environment] = {}
    for name, arm in plan.by_name.items():
        with name_arm_in_errors(name, arm), start(name) as worker:
            found[name] = worker.environment()
        check(f"arm {name} of the session", session.environments[name], found[name])
    request.say(
        f"{processes(session.n_processes)} measured already; in all, "
        f"{forecast_text(forecast_of(session), plan.thresholds)}"
    )
    if request.dry_run:
        return None
    return SessionWriter.resume(request.report, request.node, found if request.node else None)


def _check_same(session: Session, request: Request) -> None:
    plan, given = session.plan, request.given
    gates = plan.gate, request.gate
    check_common(session, request, SETTINGS)
    for option, field in THRESHOLDS.items():
        if option in given:
            asked = getattr(request.thresholds, field)
            check_same(spelling(option), getattr(plan.thresholds, field), asked)
    if "gate" in given:
        check_same("--gate", plan.gate is not None, request.gate is not None)
    if "gate_sample" in given:
        check_same("--gate-sample", *(gate and share_text(gate.sample) for gate in gates))
    if "no_pace" in given:
        check_same("--no-pace", not plan.reference_work, not request.reference_work)


def check_common(session: Session, request: Request, settings: Mapping[str, str]) -> None:
    """Raises `RunFileError` for an option that contradicts the arms, cases or results of a session.
    `settings` are those to compare, each with its option."""
    plan, given = session.plan, request.given
    if request.arms and tuple(request.arms) != session.arms:
        raise RunFileError(
            f"the session has the arms {listed(session.arms)}, and the options "
            f"{listed(request.arms)}; give those of the session, or replace it with --overwrite"
        )
    for name, arm in request.arms.items():
        check_same(option_of(name), str(plan.by_name[name]), str(arm))
    if "order" in given:
        check_same("--order", plan.order, request.order)
    if "compares" in given:
        check_same("--against", plan.compares, request.compares)
    if "framework" in given:
        check_same("--framework", plan.framework, request.framework)
    check_selection(session.selection, request.selection, given, settings)
    asked = {name: request.axes[name] for name in session.axes}
    check_axes(session.axes, asked, given)
    _check_tolerance(plan.tolerance, request)


def _check_tolerance(tolerance: Tolerance | None, request: Request) -> None:
    for option in ("rtol", "atol"):
        if option in request.given:
            asked = getattr(request.tolerance, option, None)
            check_same(f"--{option}", getattr(tolerance, option, None), asked)
    if "no_check" in request.given:
        check_same("--no-check", tolerance is None, request.tolerance is None)
    if tolerance is None and DIFFERENT in (request.fail_on or ()):
        raise RunFileError(
            f"--fail-on {DIFFERENT}: the session was made with --no-check; omit "
            "the option, or replace the session with --overwrite"
        )
