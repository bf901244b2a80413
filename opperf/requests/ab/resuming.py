"""Resumes a session: what was asked for has to be what it was begun with."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from opperf.comparison.ab.arms import option_of, plan_threads
from opperf.comparison.ab.forecast import forecast_of, forecast_text, processes
from opperf.comparison.ab.gate import left_to_count
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter, read_session
from opperf.environments.building import restore
from opperf.errors import RunFileError
from opperf.execution.execute import check_comparable, check_environment
from opperf.metrics import check_instruments
from opperf.model import DIFFERENT, Environment
from opperf.plurals import pluralize
from opperf.requests.ab.beginning import facts, say_cores, starter
from opperf.requests.ab.counting import check_counting, check_options
from opperf.requests.ab.planning import Planned, listed, name_arm_in_errors
from opperf.requests.ab.resolving import FIELDS, ResolvedAb
from opperf.requests.keeping import check_same


def resume(request: ResolvedAb) -> SessionWriter | Planned:
    """Resumes a session; its file, or what is left of a dry run. Raises `RunFileError` for other
    arms, thresholds, cases or environments."""
    if not request.report.exists():
        raise RunFileError(f"{request.report}: there is no session to resume; run without --resume")
    session, warnings = read_session(request.report)
    for warning in warnings:
        request.say(f"warning: {warning}")
    restore_environments(session, request.say)
    is_counted, dry_run = session.plan.kind == "counts", request.asked.dry_run
    if is_counted and not dry_run:
        check_instruments([case.settings for case in session.cases.values()])
    if is_counted:
        check_options(request, counted=True)
    _check_same(session, request)
    if is_counted:
        if dry_run:
            left = sum(id not in session.counts for id in session.cases)
            return Planned((f"{request.report}: {pluralize(left, 'case')} left",))
        return SessionWriter.resume(request.report)
    if left_to_count(session):
        check_counting()
    found = _environments(session, request)
    request.say(
        f"{processes(session.n_processes)} measured already; in all, "
        f"{forecast_text(forecast_of(session), session.plan.thresholds)}"
    )
    if dry_run:
        return Planned()
    return SessionWriter.resume(request.report, request.node, found if request.node else None)


def restore_environments(session: Session, say: Callable[[str], None]) -> None:
    """Installs the arms' environments again where the cache has lost them, with the same
    versions."""
    found = restore(session.header.interpreters, say)
    paths = {interpreter.label: interpreter.path for interpreter in found}
    session.header = msgspec.structs.replace(session.header, interpreters=found)
    arms = tuple(
        msgspec.structs.replace(arm, python=paths.get(arm.name, arm.python))
        for arm in session.plan.arms
    )
    session.plan = msgspec.structs.replace(session.plan, arms=arms)


def _environments(session: Session, request: ResolvedAb) -> dict[str, Environment]:
    """Returns the environments of the arms here. Raises `RunFileError` for others than the
    session's."""
    plan = session.plan
    say_cores(plan.by_name, request, session.threads)
    start = starter(plan.by_name, plan.framework, request, session.threads.number)
    # Another node of its kind may go on.
    check = check_comparable if request.node else check_environment
    found: dict[str, Environment] = {}
    for name, arm in plan.by_name.items():
        with name_arm_in_errors(name, arm), start(name) as worker:
            found[name] = worker.environment()
        check(f"arm {name} of the session", session.environments[name], found[name])
    return found


OF_COUNTS = frozenset({"profiler", "threshold"})
"""Facts that a session of counts may differ in: arms set the one, and the other is judged by."""


def _check_same(session: Session, request: ResolvedAb) -> None:
    """Raises `RunFileError` for a field that contradicts the arms, cases or results of a
    session."""
    plan = session.plan
    if request.arms and tuple(request.arms) != session.arms:
        raise RunFileError(
            f"the session has the arms {listed(session.arms)}, and the options "
            f"{listed(request.arms)}; give those of the session, or replace it with --overwrite"
        )
    for name, arm in request.arms.items():
        check_same(option_of(name), str(plan.by_name[name]), str(arm))
    planned = plan_threads(
        request.threads,
        "threads" in request.given,
        plan.arms,
        request.environment,
        len(request.pinning.usable),
    )
    skipped = OF_COUNTS if plan.kind == "counts" else frozenset()
    for name, asked in facts(request, planned.threads).items():
        if name in request.given - skipped:
            check_same(FIELDS[name].shown, plan.asked.get(name), asked)
    if plan.tolerance is None and DIFFERENT in (request.asked.fail_on or ()):
        raise RunFileError(
            f"--fail-on {DIFFERENT}: the session was made with --no-check; omit "
            "the option, or replace the session with --overwrite"
        )
