"""Starts a session, or resumes one: both arms start, and have the same cases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from opperf.commands.ab.keeping import make_room
from opperf.commands.ab.planning import (
    Say,
    announce,
    case_table,
    check_have_cases,
    name_arm_in_errors,
    name_pairs,
    plan_arm,
    why_nothing,
)
from opperf.commands.ab.request import (
    Options,
    arms_from,
    block_cap,
    selection_from,
    thresholds_from,
    tolerance_from,
)
from opperf.commands.run.resuming import check_axes, check_same, check_selection
from opperf.comparison.ab.arms import ArmSpec, settings_of, worker_of
from opperf.comparison.ab.checking import check_results
from opperf.comparison.ab.choosing import choose_by_id
from opperf.comparison.ab.forecast import (
    Forecast,
    check_budget,
    coarse_saving_s,
    forecast_of,
    forecast_text,
    processes,
)
from opperf.comparison.ab.measure import WARMUP_FACTOR, rehearse
from opperf.comparison.ab.pairs import Pairing, pair_cases
from opperf.comparison.ab.session import SCHEMA, SessionHeader, SessionWriter, read_session
from opperf.comparison.ab.threads import (
    COARSE_BLOCKS,
    ThreadPlan,
    Threads,
    plan_threads,
    with_threads,
)
from opperf.comparison.ab.workers import Start
from opperf.comparison.statistics.data import Arm
from opperf.errors import RunFileError, UsageError
from opperf.execution.environments import check_environment
from opperf.execution.progress import Progress
from opperf.execution.run_header import utc_now
from opperf.model import DECLARED, DIFFERENT, Check, Environment, Settings, Tolerance
from opperf.plurals import pluralize
from opperf.results import output
from opperf.results.kept import new_id
from opperf.results.messages import tell
from opperf.worker.client import Worker

MakeProgress = Callable[[int], Progress]
"""Makes the progress of a number of visits."""

ARMS: tuple[Arm, Arm] = ("A", "B")

OTHER: dict[Arm, Arm] = {"A": "B", "B": "A"}
"""The arm that an arm is compared with."""


def starter(
    arms: Mapping[Arm, ArmSpec],
    framework: str,
    options: Options,
    threads: int | None = None,
    reference_work: bool = False,
) -> Start:
    """Returns a function that makes workers of the arms, with `threads` for an arm that sets none;
    with `reference_work`, workers time it between calls."""
    cpus = options.pinning.choose(core_count(arms, options, threads))

    def start(arm: Arm) -> Worker:
        options.pinning.keep_off(cpus)
        return worker_of(arms[arm], framework, options.environment, threads, reference_work, cpus)

    return start


def core_count(arms: Mapping[Arm, ArmSpec], options: Options, threads: int | None) -> int:
    """Returns the number of cores of either arm's workers: that of the arm with more threads, so
    that the arms differ in nothing else."""
    return max(
        options.pinning.core_count(settings_of(arm, Settings(threads=threads)), options.environment)
        for arm in arms.values()
    )


def say_cores(arms: Mapping[Arm, ArmSpec], options: Options, threads: Threads, say: Say) -> None:
    """Says which cores the arms' workers are pinned to, if they are to be."""
    line, coarse = (
        options.pinning.describe([core_count(arms, options, number)])
        for number in (threads.number, None)
    )
    if line and threads.coarse and coarse != line:
        line = f"{line}; in the coarse look {coarse}"
    if line:
        say(line)


def begin(
    given: Mapping[str, Any],
    changed: Mapping[str, Any],
    options: Options,
    say: Say,
    make_progress: MakeProgress,
) -> SessionWriter | None:
    """Starts a session; its file, without replicates, or None for a dry run.

    Raises `OpperfError` if it cannot start; an existing file is then unchanged.
    """
    arms = dict(zip(ARMS, arms_from(given), strict=True))
    planned = _plan_threads(given, changed, options, arms)
    start = starter(arms, options.framework, options, planned.threads.number)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(start(name)) for name in ARMS}
        return _begin(arms, workers, given, changed, planned, options, say, make_progress)


def _begin(
    arms: Mapping[Arm, ArmSpec],
    workers: Mapping[Arm, Worker],
    given: Mapping[str, Any],
    changed: Mapping[str, Any],
    planned_threads: ThreadPlan,
    options: Options,
    say: Say,
    make_progress: MakeProgress,
) -> SessionWriter | None:
    """Starts a session with a worker of each arm, which plan and rehearse."""
    threads = planned_threads.threads
    thresholds = thresholds_from(given, COARSE_BLOCKS if threads.coarse else 0)
    common = with_threads(selection_from(given), threads.number)
    planned = {
        name: plan_arm(workers[name], name, arm, common, options, changed, say, arms[OTHER[name]])
        for name, arm in arms.items()
    }
    if not options.dry_run:
        # A wrong name is reported before a file that is in the way.
        output.check_output(options.report, options.may_replace(options.report))
    say_cores(arms, options, threads, say)
    a, b = planned["A"].plans, planned["B"].plans
    check_have_cases(arms, {"A": a, "B": b})
    pairing = pair_cases(a, b, positional=bool(arms["A"].operators))
    if not options.files:
        pairing = choose_by_id(pairing, common.ids)
    if not pairing.pairs:
        raise UsageError(why_nothing(pairing, a))
    case_time_s = given["max_time_s"]
    visit_s = dict.fromkeys((pair.id for pair in pairing.pairs), WARMUP_FACTOR * case_time_s)
    start_s = max(one.start_s for one in planned.values())
    later_start_s = max(one.later_start_s for one in planned.values())
    forecast = Forecast(
        visit_s, start_s, later_start_s, coarse_saving_s=coarse_saving_s(case_time_s)
    )
    show = partial(tell, stream=sys.stdout) if options.dry_run else say
    for name, arm in arms.items():
        show(f"{name}: {arm}")
    show(str(planned_threads))
    # After each case was called once, the forecast is of what was measured here.
    expected = f": {forecast_text(forecast, thresholds)}" if options.dry_run else ""
    show(announce(pairing, expected))
    for line in name_pairs(pairing):
        show(line)
    check_budget(forecast, thresholds, case_time_s, options.budget_s)
    if options.dry_run:
        print(case_table(pairing))
        return None
    say("calling each case once in both arms")
    environments = [one.environment for one in planned.values()]
    reference_work = not given["no_pace"] and _has_same_interpreter(*environments)
    rehearsal = rehearse(
        pairing.pairs,
        workers,
        case_time_s,
        make_progress(len(arms) * len(pairing.pairs)),
    )
    if not rehearsal.pairs:
        first, reason = next(iter(rehearsal.excluded.items()))
        raise UsageError(f"no case runs in both arms, e.g. {first}: {reason}")
    tolerance = tolerance_from(given)
    checks: dict[str, Check] = {}
    if tolerance is not None:
        say("comparing the results of A and B")
        shown = make_progress(len(rehearsal.pairs))
        checks = check_results(rehearsal.pairs, workers, tolerance, shown)
    header = SessionHeader(
        schema=SCHEMA,
        started=utc_now(),
        command=options.command,
        framework=options.framework,
        a=arms["A"],
        b=arms["B"],
        environments={name: one.environment for name, one in planned.items()},
        thresholds=thresholds,
        seed=given["seed"],
        reference_work=reference_work,
        selection=common,
        pairs=rehearsal.pairs,
        alone=pairing.alone,
        excluded=rehearsal.excluded,
        visit_s=rehearsal.visit_s,
        start_s=start_s + rehearsal.first_s,
        later_start_s=later_start_s + rehearsal.first_s,
        axes=options.axes,
        tolerance=tolerance,
        checks=checks,
        id=new_id(),
    )
    forecast = forecast_of(header)
    say(f"{_runnable(header, pairing)}: {forecast_text(forecast, thresholds)}")
    check_budget(forecast, thresholds, case_time_s, options.budget_s)
    if options.is_default_report and not options.overwrite:
        for line in make_room([options.report]):
            say(line)
    return SessionWriter.create(options.report, header, options.overwrite)


def _runnable(header: SessionHeader, pairing: Pairing) -> str:
    """How many cases both arms run."""
    runs, planned = len(header.pairs), len(pairing.pairs)
    of_all = "" if runs == planned else f" of {planned}"
    verb = "runs" if runs == 1 else "run"
    return f"{pluralize(runs, 'case')}{of_all} {verb} in both A and B"


def _plan_threads(
    given: Mapping[str, Any],
    changed: Mapping[str, Any],
    options: Options,
    arms: Mapping[Arm, ArmSpec],
) -> ThreadPlan:
    """The threads of the session that these options begin."""
    return plan_threads(
        given["threads"],
        "threads" in changed,
        tuple(arms.values()),
        options.environment,
        len(options.pinning.usable),
    )


def _has_same_interpreter(one: Environment, other: Environment) -> bool:
    """Whether reference work is the same in both, as it is not by different interpreters."""
    return one.python == other.python


SETTINGS = {name: setting.option for name, setting in DECLARED.items() if name != "threads"} | {
    "max_time_s": "--case-time"
}
"""Settings that both arms have in common, each with its option of `ab`; of `--threads` they are a
part only."""

THRESHOLDS = ("threshold", "same_within", "control_blocks")
"""Options that are fields of `Thresholds`."""

BLOCK_OPTIONS = {"until_settled": "--until-settled", "blocks": "--blocks"}
"""Options that set `Thresholds.block_cap`; the first that is set decides it."""


def resume(
    given: Mapping[str, Any], changed: Mapping[str, Any], options: Options, say: Say
) -> SessionWriter | None:
    """Resumes a session; its file, or None for a dry run.

    Raises `RunFileError` for other arms, thresholds, cases or environments.
    """
    if not options.report.exists():
        raise RunFileError(f"{options.report}: there is no session to resume; run without --resume")
    session, warnings = read_session(options.report)
    for warning in warnings:
        say(f"warning: {warning}")
    header = session.header
    arms: dict[Arm, ArmSpec] = {"A": header.a, "B": header.b}
    _check_same(header, given, changed)
    if "threads" in changed:
        planned = _plan_threads(given, changed, options, arms)
        check_same("--threads", str(header.threads), str(planned.threads))
    say_cores(arms, options, header.threads, say)
    start = starter(arms, header.framework, options, header.threads.number)
    for name, arm in arms.items():
        with name_arm_in_errors(name, arm), start(name) as worker:
            now_there = worker.environment()
        check_environment(f"arm {name} of the session", header.environments[name], now_there)
    forecast = forecast_of(header, session.lines)
    say(
        f"{processes(len(session.lines))} measured already; in all, "
        f"{forecast_text(forecast, header.thresholds)}"
    )
    return None if options.dry_run else SessionWriter.resume(options.report)


def _check_same(
    header: SessionHeader, given: Mapping[str, Any], changed: Mapping[str, Any]
) -> None:
    """Raises `RunFileError` for an option that contradicts the session."""
    if {"a", "b"} & set(changed):
        a, b = arms_from(given)
        check_same("--a", str(header.a), str(a))
        check_same("--b", str(header.b), str(b))
    if "framework" in changed:
        check_same("--framework", header.framework, given["framework"])
    check_selection(header.selection, selection_from(given), changed, SETTINGS)
    check_axes(header.axes, {name: tuple(given[name]) for name in header.axes}, changed)
    for option in THRESHOLDS:
        if option in changed:
            shown = f"--{option.replace('_', '-')}"
            check_same(shown, getattr(header.thresholds, option), given[option])
    for option, shown in BLOCK_OPTIONS.items():
        if option in changed:
            # Either sets the cap, which is fixed before the first look.
            check_same(shown, header.thresholds.block_cap, block_cap(given))
            break
    check_tolerance(header.tolerance, given, changed)
    if "no_pace" in changed:
        check_same("--no-pace", not header.reference_work, given["no_pace"])


def check_tolerance(
    tolerance: Tolerance | None, given: Mapping[str, Any], changed: Mapping[str, Any]
) -> None:
    """Raises `RunFileError` for an option that contradicts how the results of a session were
    compared, None if they were not."""
    for option, shown in (("rtol", "--rtol"), ("atol", "--atol")):
        if option in changed:
            check_same(shown, getattr(tolerance, option, None), given[option])
    if "no_check" in changed:
        check_same("--no-check", tolerance is None, given["no_check"])
    if tolerance is None and DIFFERENT in given["fail_on"]:
        raise RunFileError(
            f"--fail-on {DIFFERENT}: the session was made with --no-check; omit "
            "the option, or replace the session with --overwrite"
        )
