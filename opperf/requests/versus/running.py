"""Measures a comparison of implementations to its end, and judges it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter
from opperf.comparison.versus.judging import Versus, outcome_of, versus_of
from opperf.comparison.versus.plots import write_plot
from opperf.comparison.versus.report import report_of
from opperf.errors import INTERRUPTED, OpperfError, OutputError
from opperf.reports.model import Report
from opperf.requests.ab.keeping import keep_interrupted, say_kept
from opperf.requests.ab.resolving import ResolvedAb, Watch
from opperf.requests.ab.sessions import measure_session
from opperf.requests.declaring import Say, unsaid
from opperf.requests.versus.beginning import Beginning
from opperf.requests.versus.request import WRONG, VersusRequest
from opperf.requests.versus.resolving import ResolvedVersus, resolve
from opperf.results.kept import display
from opperf.results.output import check_output


@dataclass(frozen=True)
class JudgedVersus:
    """The findings of a comparison of implementations, and the exit code of its command."""

    versus: Versus
    report: Report
    code: int
    reason: str
    """Why it is not 0, in one line."""


def judge_versus(session: Session, fail_on: tuple[str, ...] | None) -> JudgedVersus:
    """Returns what a session says, which fails on these findings, by default on wrong results."""
    found = versus_of(session, (WRONG,) if fail_on is None else fail_on)
    return JudgedVersus(found, report_of(found), *outcome_of(found))


def measured(request: ResolvedVersus) -> Session:
    """Returns a session of implementations, once it is measured to its end. Raises
    `OpperfError`."""
    with request.session.pinning:
        writer, session = _begun(request)
        with writer:
            measure_session(writer, session)
    return writer.session


def _begun(request: ResolvedVersus) -> tuple[SessionWriter, ResolvedAb]:
    report, may_replace = request.session.report, request.session.may_replace
    if report.is_file() and not may_replace:
        raise OutputError(f"{report} exists; add --overwrite to replace it")
    check_output(report, may_replace)
    with ExitStack() as stack:
        begun = Beginning(request, stack)
        return begun.begin(), replace(request.session, arms=begun.arms)


def planned(request: ResolvedVersus) -> list[str]:
    """Returns lines on which operator each arm has for each row, and what it lacks."""
    with request.session.pinning, ExitStack() as stack:
        plan = Beginning(request, stack).plan
    return [
        *(
            f"{group.row.operation} ({group.inputs}): "
            + ", ".join(f"{arm} {case.label}" for arm, case in group.cases.items())
            for group in plan.groups
        ),
        *(
            f"not measured: {lack.arm}: {lack.operation} ({lack.inputs}): {lack.reason}"
            for lack in plan.lacking
        ),
    ]


def run(
    request: VersusRequest, say: Say, watch: Watch, command: str
) -> JudgedVersus | list[str] | int:
    """Measures a comparison, keeps its file and judges it; of a dry run returns lines, and of an
    interrupted one the exit code. Raises `OpperfError`."""
    quiet_say = unsaid if request.quiet else say
    resolved = resolve(request, quiet_say, watch, command)
    if request.dry_run:
        return planned(resolved)
    report = request.report
    with resolved.session.pinning:
        # Until it has begun, a file of this name is another's.
        writer, session = _begun(resolved)
        with writer:
            try:
                measure_session(writer, session)
            except KeyboardInterrupt:
                keep_interrupted(report, say)
                say(f"interrupted; what was measured is in {display(report)}")
                return INTERRUPTED
            except OpperfError:
                keep_interrupted(report, say)
                raise
    say_kept(report, quiet_say, say)
    judged = judge_versus(writer.session, request.fail_on)
    if request.plot is not None:
        write_plot(judged.versus, request.plot)
        quiet_say(f"written to {display(request.plot)}")
    return judged
