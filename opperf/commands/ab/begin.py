"""Starts a session, or resumes one: both arms start, and have the same cases."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

import msgspec

from opperf.commands.ab.keeping import make_room
from opperf.commands.ab.planning import (
    announce,
    case_table,
    check_have_cases,
    name_arm_in_errors,
    name_pairs,
    plan_arm,
    why_nothing,
)
from opperf.commands.ab.request import Request
from opperf.commands.run.resuming import check_axes, check_same, check_selection
from opperf.comparison.ab.arms import (
    COARSE_BLOCKS,
    ArmSpec,
    ThreadPlan,
    Threads,
    plan_threads,
    settings_of,
    with_threads,
    worker_of,
)
from opperf.comparison.ab.blocks import Start
from opperf.comparison.ab.forecast import (
    Forecast,
    check_budget,
    coarse_saving_s,
    forecast_of,
    forecast_text,
    processes,
)
from opperf.comparison.ab.pairs import Pair, Pairing, choose_by_id, pair_cases
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR, check_results, rehearse
from opperf.comparison.ab.session import Session, new_session
from opperf.comparison.ab.session_file import SessionWriter
from opperf.comparison.statistics.data import Arm
from opperf.errors import RunFileError, UsageError
from opperf.execution.environments import check_environment
from opperf.model import DECLARED, DIFFERENT, Case, Check, Environment, Settings, Tolerance
from opperf.plurals import pluralize
from opperf.results import output
from opperf.results.messages import tell
from opperf.worker.client import Worker

OTHER: dict[str, Arm] = {"A": "B", "B": "A"}
"""The arm that an arm is compared with."""


def starter(
    arms: Mapping[str, ArmSpec],
    framework: str,
    request: Request,
    threads: int | None = None,
    reference_work: bool = False,
) -> Start:
    """Returns a function that makes workers of the arms, with `threads` for an arm that sets none;
    with `reference_work`, workers time it between calls."""
    cpus = request.pinning.choose(_core_count(arms, request, threads))

    def start(arm: str) -> Worker:
        request.pinning.keep_off(cpus)
        return worker_of(arms[arm], framework, request.environment, threads, reference_work, cpus)

    return start


def _core_count(arms: Mapping[str, ArmSpec], request: Request, threads: int | None) -> int:
    """Returns the number of cores of any arm's workers: that of the arm with most threads, so that
    the arms differ in nothing else."""
    return max(
        request.pinning.core_count(settings_of(arm, Settings(threads=threads)), request.environment)
        for arm in arms.values()
    )


def say_cores(arms: Mapping[str, ArmSpec], request: Request, threads: Threads) -> None:
    """Says which cores the arms' workers are pinned to, if they are to be."""
    line, coarse = (
        request.pinning.describe([_core_count(arms, request, number)])
        for number in (threads.number, None)
    )
    if line and threads.coarse and coarse != line:
        line = f"{line}; in the coarse look {coarse}"
    if line:
        request.say(line)


def begin(request: Request) -> SessionWriter | None:
    """Starts a session; its file, without processes, or None for a dry run.

    Raises `OpperfError` if it cannot start; an existing file is then unchanged.
    """
    threads = _plan_threads(request, request.arms)
    start = starter(request.arms, request.framework, request, threads.threads.number)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(start(name)) for name in request.arms}
        return _begin(request, workers, threads)


def _begin(
    request: Request, workers: Mapping[str, Worker], planned_threads: ThreadPlan
) -> SessionWriter | None:
    """Starts a session with a worker of each arm, which plan and rehearse."""
    arms, say = request.arms, request.say
    threads = planned_threads.threads
    thresholds = msgspec.structs.replace(
        request.thresholds, coarse_blocks=COARSE_BLOCKS if threads.coarse else 0
    )
    common = with_threads(request.selection, threads.number)
    planned = {
        name: plan_arm(workers[name], name, arm, common, request, arms[OTHER[name]])
        for name, arm in arms.items()
    }
    if not request.dry_run:
        # A wrong name is reported before a file that is in the way.
        output.check_output(request.report, request.may_replace(request.report))
    say_cores(arms, request, threads)
    a, b = planned["A"].plans, planned["B"].plans
    check_have_cases(arms, {"A": a, "B": b})
    pairing = pair_cases(a, b, positional=bool(arms["A"].operators))
    if not request.files:
        pairing = choose_by_id(pairing, common.ids)
    if not pairing.pairs:
        raise UsageError(why_nothing(pairing, a))
    case_time_s = request.case_time_s
    visit_s = dict.fromkeys((pair.id for pair in pairing.pairs), WARMUP_FACTOR * case_time_s)
    start_s = max(arm.start_s for arm in planned.values())
    later_start_s = max(arm.later_start_s for arm in planned.values())
    forecast = Forecast(
        visit_s, start_s, later_start_s, coarse_saving_s=coarse_saving_s(case_time_s)
    )
    show = partial(tell, stream=sys.stdout) if request.dry_run else say
    for name, arm in arms.items():
        show(f"{name}: {arm}")
    show(str(planned_threads))
    # After each case was called once, the forecast is of what was measured here.
    expected = f": {forecast_text(forecast, thresholds)}" if request.dry_run else ""
    show(announce(pairing, expected))
    for line in name_pairs(pairing):
        show(line)
    check_budget(forecast, thresholds, case_time_s, request.budget_s)
    if request.dry_run:
        print(case_table(pairing))
        return None
    say("calling each case once in both arms")
    environments = {name: arm.environment for name, arm in planned.items()}
    rehearsal = rehearse(
        pairing.pairs,
        workers,
        case_time_s,
        request.make_progress(len(arms) * len(pairing.pairs)),
    )
    if not rehearsal.pairs:
        first, reason = next(iter(rehearsal.excluded.items()))
        raise UsageError(f"no case runs in both arms, e.g. {first}: {reason}")
    session = new_session(
        groups_of(rehearsal.pairs),
        arms,
        environments,
        common,
        request.command,
        rehearsal.excluded,
        request.axes,
        {pair.id: pair.names for pair in rehearsal.pairs},
        kind="times",
        framework=request.framework,
        thresholds=thresholds,
        seed=request.seed,
        alone=pairing.alone,
        visit_s=rehearsal.visit_s,
        start_s=start_s + rehearsal.first_s,
        later_start_s=later_start_s + rehearsal.first_s,
        reference_work=request.reference_work and _has_same_interpreter(*environments.values()),
        tolerance=request.tolerance,
        checks=compare_results(rehearsal.pairs, workers, request),
    )
    forecast = forecast_of(session)
    say(f"{_runnable(session, pairing)}: {forecast_text(forecast, thresholds)}")
    check_budget(forecast, thresholds, case_time_s, request.budget_s)
    return create(request, session)


def groups_of(pairs: Iterable[Pair]) -> dict[str, dict[str, Case]]:
    """Returns the cases of pairs by arm, by the pair's id."""
    return {pair.id: {"A": pair.a, "B": pair.b} for pair in pairs}


def compare_results(
    pairs: Sequence[Pair], workers: Mapping[str, Worker], request: Request
) -> dict[str, Check]:
    """Returns how the results of the arms compare, by pair; nothing unless that is asked for."""
    if request.tolerance is None:
        return {}
    request.say("comparing the results of A and B")
    return check_results(pairs, workers, request.tolerance, request.make_progress(len(pairs)))


def create(request: Request, session: Session) -> SessionWriter:
    """Begins the file of a session, and keeps an earlier one of the default name. Raises
    `OutputError`."""
    if request.is_default_report and not request.overwrite:
        for line in make_room(request.report):
            request.say(line)
    return SessionWriter.create(request.report, session, request.overwrite)


def _runnable(session: Session, pairing: Pairing) -> str:
    """Returns how many cases both arms run."""
    runs, planned = len(session.plan.groups), len(pairing.pairs)
    of_all = "" if runs == planned else f" of {planned}"
    verb = "runs" if runs == 1 else "run"
    return f"{pluralize(runs, 'case')}{of_all} {verb} in both A and B"


def _plan_threads(request: Request, arms: Mapping[str, ArmSpec]) -> ThreadPlan:
    """Returns the threads of the session that a request begins."""
    return plan_threads(
        request.threads,
        "threads" in request.given,
        tuple(arms.values()),
        request.environment,
        len(request.pinning.usable),
    )


def _has_same_interpreter(one: Environment, other: Environment) -> bool:
    """Returns whether reference work is the same in both, as it is not by different
    interpreters."""
    return one.python == other.python


SETTINGS = {name: setting.option for name, setting in DECLARED.items() if name != "threads"} | {
    "max_time_s": "--case-time"
}
"""Settings that both arms have in common, each with its option of `ab`; of `--threads` they are a
part only."""

THRESHOLDS = {
    "threshold": "threshold",
    "same_within": "same_within",
    "control_blocks": "control_blocks",
    "until_settled": "block_cap",
    "blocks": "block_cap",
}
"""Options that set a field of `Thresholds`."""


def resume(request: Request, session: Session) -> SessionWriter | None:
    """Resumes a session of times; its file, or None for a dry run.

    Raises `RunFileError` for other arms, thresholds, cases or environments.
    """
    plan = session.plan
    _check_same(session, request)
    if "threads" in request.given:
        planned = _plan_threads(request, plan.arms)
        check_same("--threads", str(session.threads), str(planned.threads))
    say_cores(plan.arms, request, session.threads)
    start = starter(plan.arms, plan.framework, request, session.threads.number)
    for name, arm in plan.arms.items():
        with name_arm_in_errors(name, arm), start(name) as worker:
            now_there = worker.environment()
        check_environment(f"arm {name} of the session", session.environments[name], now_there)
    request.say(
        f"{processes(len(session.processes))} measured already; in all, "
        f"{forecast_text(forecast_of(session), plan.thresholds)}"
    )
    return None if request.dry_run else SessionWriter.resume(request.report)


def _check_same(session: Session, request: Request) -> None:
    """Raises `RunFileError` for an option that contradicts a session of times."""
    plan, given = session.plan, request.given
    check_common(session, request, SETTINGS)
    for option, field in THRESHOLDS.items():
        if option in given:
            shown = f"--{option.replace('_', '-')}"
            asked = getattr(request.thresholds, field)
            check_same(shown, getattr(plan.thresholds, field), asked)
    if "no_pace" in given:
        check_same("--no-pace", not plan.reference_work, not request.reference_work)


def check_common(session: Session, request: Request, settings: Mapping[str, str]) -> None:
    """Raises `RunFileError` for an option that contradicts the arms, cases or results of a session.
    `settings` are the settings to compare, each with its option."""
    plan, given = session.plan, request.given
    for name, arm in request.arms.items():
        check_same(f"--{name.lower()}", str(plan.arms[name]), str(arm))
    if "framework" in given:
        check_same("--framework", plan.framework, request.framework)
    check_selection(session.selection, request.selection, given, settings)
    asked = {name: request.axes[name] for name in session.axes}
    check_axes(session.axes, asked, given)
    _check_tolerance(plan.tolerance, request)


def _check_tolerance(tolerance: Tolerance | None, request: Request) -> None:
    """Raises `RunFileError` for an option that contradicts how the results of a session were
    compared, None if they were not."""
    for option in ("rtol", "atol"):
        if option in request.given:
            asked = getattr(request.tolerance, option, None)
            check_same(f"--{option}", getattr(tolerance, option, None), asked)
    if "no_check" in request.given:
        check_same("--no-check", tolerance is None, request.tolerance is None)
    if tolerance is None and DIFFERENT in request.fail_on:
        raise RunFileError(
            f"--fail-on {DIFFERENT}: the session was made with --no-check; omit "
            "the option, or replace the session with --overwrite"
        )
