"""Measures sessions: stage after stage, from where a session is to its end; a resumed one is
asked for what it was begun with."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple, TypeVar

import msgspec

from opperf.comparison.ab.arms import option_of, plan_threads
from opperf.comparison.ab.blocks import AlternatingProcesses, ArmProcesses, Blocks
from opperf.comparison.ab.deadline import WithDeadline
from opperf.comparison.ab.figures import moved_by_gains
from opperf.comparison.ab.forecast import (
    Stage,
    first_processes,
    forecast_of,
    forecast_text,
    next_stage,
    spent,
)
from opperf.comparison.ab.gate import Counts, left_to_count, leftover, timed_figures
from opperf.comparison.ab.session import COUNTS, Session
from opperf.comparison.ab.session_file import SessionWriter, read_session
from opperf.comparison.ab.session_plan import block_size
from opperf.environments.building import restore
from opperf.errors import INTERRUPTED, OpperfError, RunFileError
from opperf.execution.execute import Schedule, check_comparable, check_environment, execute
from opperf.execution.executor import Executor
from opperf.execution.progress import Pace, Progress
from opperf.execution.run_header import utc_now
from opperf.execution.workers import Workers, build
from opperf.metrics import check_instruments
from opperf.model import DIFFERENT, Closing, Environment
from opperf.plurals import pluralize
from opperf.requests.ab.beginning import begin, facts, say_cores, starter
from opperf.requests.ab.counting import check_counting, check_options
from opperf.requests.ab.keeping import keep_interrupted, resume_advice, say_kept
from opperf.requests.ab.planning import Planned, listed, name_arm_in_errors
from opperf.requests.ab.request import AbRequest
from opperf.requests.ab.resolving import ResolvedSession, Watch, Work, resolve
from opperf.requests.declaring import Say, declared, told, unsaid
from opperf.requests.judging import Comparisons, Judged, judge_session
from opperf.requests.keeping import check_same
from opperf.results.kept import display, profile_folder
from opperf.results.text import duration

Resolved = TypeVar("Resolved", bound=ResolvedSession)

Begin = Callable[[Resolved], SessionWriter | Planned]
"""Begins a session, or plans it in a dry run."""


def resume(request: ResolvedSession) -> SessionWriter | Planned:
    """Resumes a session; its file, or what is left of a dry run. Raises `RunFileError` for another
    command's, and for other arms, thresholds, cases or environments."""
    if not request.report.exists():
        raise RunFileError(f"{request.report}: there is no session to resume; run without --resume")
    session = told(read_session(request.report), request.say)
    word = "ab" if session.plan.implementations is None else "versus"
    if word != request.asked.word:
        raise RunFileError(
            f"{request.report} is a session of `opperf {word}`; resume it with opperf {word} "
            f"--resume {display(request.report)}"
        )
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
        f"{pluralize(session.n_processes, 'process')} measured already; in all, "
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


def _environments(session: Session, request: ResolvedSession) -> dict[str, Environment]:
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


def _check_same(session: Session, request: ResolvedSession) -> None:
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
    fields = declared(type(request.asked))
    for name, asked in facts(request, planned.threads).items():
        if name in request.given - skipped:
            check_same(fields[name].shown, plan.asked.get(name), asked)
    if plan.tolerance is None and DIFFERENT in (request.asked.fail_on or ()):
        raise RunFileError(
            f"--fail-on {DIFFERENT}: the session was made with --no-check; omit "
            "the option, or replace the session with --overwrite"
        )


class Ended(NamedTuple):
    """A session that was not judged: interrupted, or with nothing to measure."""

    code: int
    """Exit code."""
    reason: str = ""


def run(
    request: AbRequest, say: Say, watch: Watch, command: str
) -> Judged[Comparisons] | Planned | Ended:
    """Measures a session on this machine, keeps its file, and judges it; of a dry run returns the
    plan. Raises `OpperfError`."""
    quiet_say = unsaid if request.quiet else say
    resolved = resolve(request, quiet_say, watch, command)
    if resolved is None:
        return Ended(0)
    session = complete(resolved, begin, say)
    if not isinstance(session, Session):
        return session
    return judge_session(session, resolved.report, request.fail_on, resolved.limits, request.weight)


def complete(request: Resolved, begin: Begin[Resolved], say: Say) -> Session | Planned | Ended:
    """Measures a session on this machine to its end, and keeps its file; of a dry run returns the
    plan. `say` is given what even a quiet session has to. Raises `OpperfError`."""
    with request.pinning:
        writer = open_session(request, begin)
        if isinstance(writer, Planned):
            return writer
        session, report, asked = writer.session, request.report, request.asked
        with writer:
            try:
                measure_session(writer, request)
            except KeyboardInterrupt:
                keep_interrupted(report, say)
                done = _done(session) or "the counts are in "
                return Ended(INTERRUPTED, f"interrupted; {done}{resume_advice(asked, report)}")
            except OpperfError as error:
                keep_interrupted(report, say)
                what = "counts" if session.plan.kind == COUNTS else "measurements"
                advice = resume_advice(asked, report)
                raise type(error)(f"{error}; the {what} are in {advice}") from error
    say_kept(report, request.say, say)
    if session.plan.kind != COUNTS:
        for line in filter(None, [spent(session.processes)]):
            request.say(line)
    return session


def measured(
    request: Resolved,
    begin: Begin[Resolved],
    begun: Callable[[Session], None] = lambda session: None,
) -> Session:
    """Returns a session, once it is measured to its end; `begun` is called before. Raises
    `OpperfError`."""
    with request.pinning:
        writer = open_session(request, begin)
        assert not isinstance(writer, Planned), "no dry run"
        with writer:
            begun(writer.session)
            measure_session(writer, request)
    return writer.session


def _done(session: Session) -> str:
    if session.plan.kind == COUNTS:
        return ""
    counts = f"{pluralize(len(session.counts), 'case')} counted, " if session.plan.gate else ""
    return f"{counts}{pluralize(session.n_processes, 'process')} measured, in "


def open_session(request: Resolved, begin: Begin[Resolved]) -> SessionWriter | Planned:
    """Begins a session, or resumes one. Raises `OpperfError` if it cannot."""
    return resume(request) if request.resumes else begin(request)


def measure_session(writer: SessionWriter, request: ResolvedSession) -> None:
    """Measures the rest of a session, each stage by its schedule, and closes it. Raises
    `OpperfError` if it cannot go on."""
    session, begun = writer.session, time.monotonic()
    if session.plan.gate is not None and not left_to_count(session):
        request.say(leftover(session))
    with _Executors(writer, request) as executors:
        for stage in _stages(session):
            visits = executors.counting() if stage is None else executors.blocks(stage)
            schedule = WithDeadline(
                visits.schedule, request.deadline, lambda: processes_of(session)
            )
            execute(schedule, visits.executor, writer.store, visits.shown)
            if stage is None and session.plan.gate is not None:
                request.say(leftover(session))
    if session.closing is None:
        writer.close_session(_closing(session, time.monotonic() - begun))


FIRST_LOOK = Stage("comparison", 0, 1, ())
"""The only stage of a session without verdicts."""


def _stages(session: Session) -> Iterator[Stage | None]:
    """Yields what is left of a session, as it is measured; None for counts."""
    plan = session.plan
    if left_to_count(session):
        yield None
    if plan.is_quick:
        if len(session.processes) < block_size("comparison", len(plan.arms), plan.order):
            yield FIRST_LOOK
        return
    while plan.kind == "times" and timed_figures(session):
        stage = next_stage(session.comparisons, plan.thresholds, session.ended)
        if stage is None:
            return
        yield stage


def _closing(session: Session, elapsed_s: float) -> Closing:
    judged = []
    if session.plan.kind == "times":
        judged = [] if session.plan.is_quick else session.judge()
        elapsed_s = sum(process.line.wall_s for process in session.processes)
    of_kind = {
        "times": (case.verdict.value for _, found in judged for case in found.verdicts),
        COUNTS: (record.status.value for record in session.counts.values()),
        "checks": (
            check.outcome for arm in session.arms[1:] for check in session.checks_of(arm).values()
        ),
    }
    moved = {figure: own for view in judged for figure, own in moved_by_gains(*view).items()}
    return Closing(utc_now(), elapsed_s, dict(Counter(of_kind[session.plan.kind])), moved)


class _Visits(NamedTuple):
    schedule: Schedule
    executor: Executor
    shown: Progress


class _Executors(ExitStack):
    """The executors of a session's stages, each open until another one is needed."""

    def __init__(self, writer: SessionWriter, request: ResolvedSession) -> None:
        super().__init__()
        self._writer, self._request = writer, request
        self._running = ""
        self._arms: ArmProcesses | None = None

    def counting(self) -> _Visits:
        """Begins the stage of counts."""
        session, request = self._writer.session, self._request
        counts = Counts(session, request.pinning)
        self._writer.plan(counts.every)
        workers = self.enter_context(Workers(session.header.interpreters, request.pinning))
        build(workers, counts.order, request.say)
        executor = self.enter_context(counts.executor(workers, profile_folder(request.report)))
        beside = f", {executor.lanes} workers side by side" if executor.lanes > 1 else ""
        number = len(counts.order)
        request.say(f"counting {pluralize(number, 'case')} of both arms{beside}")
        return _Visits(counts, executor, request.watch(number, None, Work("count")))

    def blocks(self, stage: Stage) -> _Visits:
        """Begins a stage of times."""
        session, request, arms = self._writer.session, self._request, self._processes(stage)
        plan, blocks = session.plan, Blocks(self._writer, stage, arms)
        number, cases = blocks.n_processes, blocks.n_cases
        size = block_size(stage.phase, len(plan.arms), plan.order)
        share = len(blocks.places) / (size * stage.n_blocks)
        left_s = share * forecast_of(session, blocks.times).stage_s(stage)
        work = f"{pluralize(number, 'process')}, {pluralize(cases, 'case')} each"
        name = _stage_name(stage, session)
        request.say(f"{name}: {work}, about {duration(left_s)}")
        total = number * cases
        visits = Work(f"{name}: process", cases)
        shown = request.watch(total, _pace(stage, total, left_s, session), visits)
        return _Visits(blocks, arms, shown)

    def _processes(self, stage: Stage) -> ArmProcesses:
        # New imports after each look; the control has those of the blocks up to the first.
        needed = "coarse" if stage.phase == "coarse" else f"{stage.first_block}"
        if self._arms is None or needed != self._running:
            self.close()
            session, request = self._writer.session, self._request
            plan, threads = session.plan, session.threads.number
            of_order = AlternatingProcesses if plan.order == "alternate" else ArmProcesses
            own = () if stage.phase == "coarse" else (threads, plan.reference_work)
            start = starter(plan.by_name, plan.framework, request, *own)
            self._arms, self._running = self.enter_context(of_order(start)), needed
        return self._arms


def processes_of(session: Session) -> str:
    """Returns how much of a session is measured, with what its verdicts need first."""
    if session.plan.kind == COUNTS:
        return f"{pluralize(len(session.counts), 'case')} counted"
    thresholds = session.plan.thresholds
    first = first_processes(thresholds, len(session.arms), session.plan.order)
    done = session.n_processes
    least = f" of {first} at least" if done < first else ""
    return f"{pluralize(done, 'process')} measured{least}"


def _pace(stage: Stage, total: int, left_s: float, session: Session) -> Pace:
    """Returns the pace of a stage of `total` visits; what is left is that of the session."""
    later_s = forecast_of(session).later_s(stage, session.plan.thresholds)
    return Pace(total, left_s, lambda case: left_s / max(1, total), later_s, starts=True)


def _stage_name(stage: Stage, session: Session) -> str:
    first, *others = session.arms
    if session.plan.is_quick:
        return "first look"
    if stage.phase == "control":
        return f"{first} against {first}"
    name = f"{first} against {' and '.join(others)}"
    if stage.phase == "coarse":
        return f"{name} with all threads"
    last = stage.first_block + stage.n_blocks
    most = session.plan.thresholds.block_cap
    return f"{name}, blocks {stage.first_block + 1} to {last} of at most {most}"
