"""The command `ab`, from its request to the exit code."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from opperf.commands.ab.begin import begin, resume, starter
from opperf.commands.ab.counting import (
    begin_counts,
    compare_counts,
    count,
    is_counted,
    resume_counts,
)
from opperf.commands.ab.gate_checks import check_gate
from opperf.commands.ab.gating import count_first
from opperf.commands.ab.keeping import keep_finished, keep_interrupted, resume_words
from opperf.commands.ab.request import Request, Work, read_request
from opperf.comparison.ab.blocks import AlternatingProcesses, ArmProcesses, Blocks
from opperf.comparison.ab.deadline import WithDeadline
from opperf.comparison.ab.forecast import (
    Stage,
    first_processes,
    forecast_of,
    next_stage,
    processes,
    spent,
)
from opperf.comparison.ab.gate import needs_no_times
from opperf.comparison.ab.order import block_size
from opperf.comparison.ab.outcome import EXIT_CODES, outcome
from opperf.comparison.ab.plausibility import moved_by_gains
from opperf.comparison.ab.report import reports_of
from opperf.comparison.ab.reports import report_for
from opperf.comparison.ab.reports.changes import measured_of
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter, read_session
from opperf.comparison.project_file import limits_from
from opperf.comparison.results import looked_for
from opperf.comparison.weighted import check_format
from opperf.environments.restoring import restore
from opperf.errors import INTERRUPTED, OpperfError, RunFileError, UsageError
from opperf.execution.execute import execute
from opperf.execution.progress import Pace
from opperf.execution.run_header import utc_now
from opperf.frameworks.mentioned import report_choice
from opperf.machine.pinning import cpus_arguments
from opperf.model import Closing
from opperf.plurals import pluralize
from opperf.reports.writing import write_reports
from opperf.results.kept import display
from opperf.results.messages import tell
from opperf.results.output import Output, check_output, outputs_from
from opperf.results.text import duration


def ab_command(given: Mapping[str, Any], changed: Mapping[str, Any]) -> int:
    """Compares two arms; the exit code. Raises `OpperfError` if that is not possible."""
    request = read_request(given, changed)
    with request.pinning:
        return _run_session(request)


def _run_session(request: Request) -> int:
    writer = open_session(request)
    if writer is None:
        return 0
    counts = writer.session.plan.kind == "counts"
    with writer:
        try:
            measure_session(writer, request)
        except KeyboardInterrupt:
            keep_interrupted(request.report)
            done = _done(writer.session)
            tell(f"interrupted; {done or 'the counts are in '}{_resume_hint(request)}")
            return INTERRUPTED
        except OpperfError as error:
            keep_interrupted(request.report)
            what = "counts" if counts else "measurements"
            raise type(error)(f"{error}; the {what} are in {_resume_hint(request)}") from error
    session = writer.session
    fail_on = findings_of(session, request.fail_on)
    name = display(request.report)
    kept = keep_finished(request.report)
    request.say(f"all measurements are in {name}{'' if kept == name else f', kept as {kept}'}")
    if counts:
        return compare_counts(
            request.report, fail_on, request.limits, request.outputs, request.weight
        )
    for line in filter(None, [spent(session.processes)]):
        request.say(line)
    return _judge(session, name, request.outputs, fail_on, request.weight)


def _done(session: Session) -> str:
    """Returns what a session of times has; empty of one of counts."""
    if session.plan.kind == "counts":
        return ""
    counts = f"{pluralize(len(session.counts), 'case')} counted, " if session.plan.gate else ""
    return f"{counts}{processes(session.n_processes)} measured, in "


def open_session(request: Request) -> SessionWriter | None:
    """Starts a session, or resumes one; None for a dry run. Raises `OpperfError` if it cannot."""
    if not request.resume:
        check_gate(request)
        report_choice(request.choice, request.say)
        return (begin_counts if is_counted(request) else begin)(request)
    if not request.report.exists():
        raise RunFileError(f"{request.report}: there is no session to resume; run without --resume")
    session, warnings = read_session(request.report)
    for warning in warnings:
        request.say(f"warning: {warning}")
    restore_environments(session, request.say)
    return (resume_counts if session.plan.kind == "counts" else resume)(request, session)


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


def measure_session(writer: SessionWriter, request: Request) -> None:
    """Measures the rest of a session, and closes it. Raises `OpperfError` if it cannot go on."""
    MEASURES[writer.session.plan.kind](writer, request)


def from_ab(path: Path, options: Mapping[str, Any]) -> int:
    """Makes the verdicts of a session again from its file; the exit code. `options` are those of
    `compare`. Raises `RunFileError` for any other file, `UsageError` for a verdict that a session
    does not have or a format without totals, and `OutputError`."""
    session, warnings = read_session(path)
    for warning in warnings:
        tell(f"warning: {warning}")
    for word in options["fail_on"] or ():
        if word not in EXIT_CODES:
            raise UsageError(f"--fail-on {word}: a session can fail on {', '.join(EXIT_CODES)}")
    outputs = outputs_from(options)
    for output in outputs:
        check_format(options["weight"], output.format, "ab")
        check_output(output.path, options["overwrite"], [path])
    fail_on = findings_of(session, options["fail_on"])
    if session.plan.kind == "counts":
        return compare_counts(path, fail_on, limits_from(options), outputs, options["weight"])
    return _judge(session, display(path), outputs, fail_on, options["weight"])


def _judge(
    session: Session,
    name: str,
    outputs: Iterable[Output],
    fail_on: tuple[str, ...],
    weight: str | None,
) -> int:
    """Reports the verdicts of a session of times, whose file has this name; the exit code."""
    found = reports_of(session, fail_on, weight)
    write_reports(report_for(found, measured_of(session, name)), outputs)
    code, why = outcome(found)
    if why:
        sys.stdout.flush()
        tell(f"opperf: {why}")
    return code


def findings_of(session: Session, asked: Sequence[str] | None) -> tuple[str, ...]:
    """Returns the findings that a session fails on: those asked for, or the usual ones. Raises
    `UsageError` for results that it did not compare."""
    are_compared = session.plan.tolerance is not None
    return looked_for(asked, are_compared, "the session was made with --no-check")


def _measure(writer: SessionWriter, request: Request) -> None:
    """Measures the rest of a session of times; each replicate is written before the next begins."""
    session = writer.session
    plan = session.plan
    if plan.gate is not None:
        count_first(writer, request)
    if not needs_no_times(session):
        _time(writer, request)
    if session.closing is None:
        judged = session.judge()
        counts = Counter(case.verdict.value for _, found in judged for case in found.verdicts)
        taken_s = sum(process.line.wall_s for process in session.processes)
        moved = {figure: own for view in judged for figure, own in moved_by_gains(*view).items()}
        writer.close_session(Closing(utc_now(), taken_s, dict(counts), moved))


def _close_checks(writer: SessionWriter, request: Request) -> None:
    """Closes a session that was begun with all that it compares."""
    if writer.session.closing is None:
        session = writer.session
        counts: Counter[str] = Counter(
            check.outcome for arm in session.arms[1:] for check in session.checks_of(arm).values()
        )
        writer.close_session(Closing(utc_now(), 0.0, dict(counts)))


MEASURES: Mapping[str, Callable[[SessionWriter, Request], None]] = {
    "times": _measure,
    "counts": count,
    "checks": _close_checks,
}
"""Functions that measure the rest of a session, by its kind."""


def _time(writer: SessionWriter, request: Request) -> None:
    session = writer.session
    plan = session.plan
    threads = session.threads.number
    arms_of = plan.by_name
    start = starter(arms_of, plan.framework, request, threads, plan.reference_work)
    start_coarse = starter(arms_of, plan.framework, request)
    of_order = AlternatingProcesses if plan.order == "alternate" else ArmProcesses
    arms, running = of_order(start), ""
    with ExitStack() as stack:
        while stage := next_stage(session.comparisons, plan.thresholds, session.ended):
            # New imports after each look; the control has those of the blocks up to the first.
            needed = "coarse" if stage.phase == "coarse" else f"{stage.first_block}"
            if needed != running:
                stack.close()
                arms = of_order(start_coarse if stage.phase == "coarse" else start)
                stack.enter_context(arms)
                running = needed
            blocks = Blocks(writer, stage, arms)
            total = blocks.n_processes * blocks.n_cases
            size = block_size(stage.phase, len(plan.arms), plan.order)
            share = len(blocks.places) / (size * stage.n_blocks)
            left_s = share * forecast_of(session, blocks.times).stage_s(stage)
            number = blocks.n_processes
            work = f"{processes(number)}, {pluralize(blocks.n_cases, 'case')} each"
            name = _stage_name(stage, session)
            request.say(f"{name}: {work}, about {duration(left_s)}")
            visits = Work(f"{name}: process", blocks.n_cases)
            shown = request.make_progress(total, visits, _pace(stage, total, left_s, session))
            execute(
                WithDeadline(blocks, request.deadline, lambda: processes_of(session)),
                arms,
                writer.store,
                shown,
            )


def processes_of(session: Session) -> str:
    """Returns how much of a session of times is measured, with what its verdicts need first."""
    thresholds = session.plan.thresholds
    first = first_processes(thresholds, len(session.arms), session.plan.order)
    done = session.n_processes
    return f"{processes(done)} measured" + (f" of {first} at least" if done < first else "")


def _pace(stage: Stage, total: int, left_s: float, session: Session) -> Pace:
    """Returns the pace of a stage of `total` visits; what is left is that of the session."""
    later_s = forecast_of(session).later_s(stage, session.plan.thresholds)
    return Pace(total, left_s, lambda case: left_s / max(1, total), later_s, starts=True)


def _stage_name(stage: Stage, session: Session) -> str:
    first, *others = session.arms
    if stage.phase == "control":
        return f"{first} against {first}"
    name = f"{first} against {' and '.join(others)}"
    if stage.phase == "coarse":
        return f"{name} with all threads"
    last = stage.first_block + stage.n_blocks
    most = session.plan.thresholds.block_cap
    return f"{name}, blocks {stage.first_block + 1} to {last} of at most {most}"


def _resume_hint(request: Request) -> str:
    words = [*resume_words(request.report), *cpus_arguments(request.pinning.choice)]
    words += request.arguments
    return f"{display(request.report)}. Resume with: {shlex.join(words)}"
