"""Counts of instructions of both arms: each case once, as load and order do not change a count, and
the comparison of the arms."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec

from opperf.commands.ab.begin import SETTINGS, check_common, create, make_session
from opperf.commands.ab.planning import case_table, omitted, pair_plans, plan_arms, show_pairs
from opperf.commands.ab.request import OF_TIMES, Request, Work
from opperf.commands.compare.running import report
from opperf.comparison.ab.arms import ArmSpec, settings_of, with_threads, worker_of
from opperf.comparison.ab.deadline import WithDeadline
from opperf.comparison.ab.loaded import are_builds, check_loaded
from opperf.comparison.ab.session import COUNTS, Session
from opperf.comparison.ab.session_file import SessionWriter, read_arms
from opperf.comparison.files.comparison import LOOKED_FOR, SOUND, Comparison
from opperf.comparison.files.judging import Question, compare
from opperf.comparison.project_file import Limits
from opperf.comparison.statistics.data import Verdict
from opperf.errors import INCONCLUSIVE, UsageError
from opperf.execution.execute import Rounds, execute, find_pending
from opperf.execution.executor import LOCAL, Task, open_executor
from opperf.execution.run_header import utc_now
from opperf.execution.workers import Workers, build, lane_count
from opperf.metrics import alone_instruments, check_instruments, counts
from opperf.model import DEFAULTS, Case, Closing, Place, Record, Run, Settings
from opperf.plurals import pluralize
from opperf.requests.keeping import check_same, spelling
from opperf.results.kept import profile_folder
from opperf.results.messages import tell
from opperf.results.output import Output, check_output
from opperf.worker.client import Worker

COMMON = {name: option for name, option in SETTINGS.items() if name != "profiler"}
"""Settings that a resumed session has to have; the option or the arms choose the profiler."""


def is_counted(request: Request) -> bool:
    """Returns whether the arms measure what is the same on every run. Raises `UsageError` if only
    one does, and for options that do not apply to what they measure."""
    profilers = dict.fromkeys(settings.profiler for settings in _settings(request))
    alone = next((profiler for profiler in profilers if profiler in alone_instruments()), "")
    if alone and len(profilers) > 1:
        raise UsageError(f"one arm counts {alone} and the other measures times: set both")
    if alone and not counts(alone):
        raise UsageError(
            f"ab compares times, or what is the same on every run, and --profiler {alone} measures "
            "neither: compare the files of two runs"
        )
    if alone and request.only_checks:
        raise UsageError(
            f"--check compares results alone, and --profiler {alone} compares them beside the "
            "counts; give only one"
        )
    if alone and request.node:
        raise UsageError(
            f"--profiler {alone} counts on this machine, where nothing disturbs a count: omit "
            "--executor ray"
        )
    check_options(request, counted=bool(alone))
    return bool(alone)


def _settings(request: Request) -> list[Settings]:
    """Returns the settings of each arm."""
    common = request.selection.settings
    return [settings_of(arm, common) for arm in request.arms.values()]


def check_options(request: Request, counted: bool) -> None:
    """Raises `UsageError` for options of times for counts, and of counts for times."""
    if not counted:
        if "tolerances" in request.given:
            raise UsageError(
                "--tolerance is for counts: set --threshold for times, or count with --profiler "
                "instructions"
            )
        return
    for name in OF_TIMES:
        if name in request.given:
            raise UsageError(
                f"{SETTINGS.get(name, spelling(name))} is for times: a count does not scatter, and "
                "is made once; omit it"
            )
    if "threads" in request.given and request.threads.coarse:
        raise UsageError(
            f"--threads {request.threads}: counts have no coarse look; give one number"
        )


def begin_counts(request: Request) -> SessionWriter | None:
    """Plans both arms, and begins the file of a session; None for a dry run. Raises `OpperfError`
    if it cannot; an existing file is then unchanged."""
    if not request.dry_run:
        # Before anything is planned.
        check_instruments(_settings(request))
    threads = request.threads.number if "threads" in request.given else DEFAULTS["threads"]
    common = with_threads(request.selection, threads)
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(_unprofiled(arm, request, threads))
            for name, arm in request.arms.items()
        }
        planned = plan_arms(workers, common, request)
        plans = {name: arm.plans for name, arm in planned.items()}
        loaded = {name: arm.loaded for name, arm in planned.items()}
        same_files = check_loaded(request.arms, loaded)
        if not request.dry_run:
            check_output(request.report, request.may_replace(request.report))
        pairing = pair_plans(request, common, plans)
        notes = [*filter(None, [same_files])]
        show_pairs(request, pairing, ", counted once in each arm", notes)
        if request.dry_run:
            print(case_table(pairing))
            return None
        session = make_session(
            request,
            common,
            pairing.pairs,
            workers,
            {},
            omitted(plans),
            kind="counts",
            absences=pairing.alone,
            loaded={name: one.files for name, one in loaded.items()},
            same_files=same_files,
        )
    writer = create(request, session)
    profile_folder(request.report, is_new=True)
    return writer


def _unprofiled(arm: ArmSpec, request: Request, threads: int | None) -> Worker:
    """Returns a worker of an arm that is not under Valgrind, which takes half a minute."""
    settings = {name: value for name, value in arm.settings.items() if name != "profiler"}
    arm = msgspec.structs.replace(arm, settings=settings)
    return worker_of(
        arm,
        request.framework,
        request.environment,
        threads,
        own_modules=are_builds(request.arms.values()),
    )


def resume_counts(request: Request, session: Session) -> SessionWriter | None:
    """Resumes a session of counts; its file, or None for a dry run. Raises `RunFileError`."""
    if not request.dry_run:
        check_instruments([case.settings for case in session.cases.values()])
    check_options(request, counted=True)
    check_common(session, request, COMMON)
    if "threads" in request.given:
        threads = session.selection.settings.threads
        check_same("--threads", threads, request.threads.number)
    writer = SessionWriter.resume(request.report)
    if not request.dry_run:
        return writer
    with writer:
        left = find_pending(writer.earlier) if writer.earlier else ()
        tell(f"{request.report}: {pluralize(len(left), 'case')} left", sys.stdout)
    return None


def places_of(cases: Mapping[str, Iterable[Case]]) -> dict[str, Place]:
    """Returns the places of counted cases, by id, from the cases of each arm."""
    return {
        case.id: Place(COUNTS, 0, position, arm, arm)
        for position, (arm, own) in enumerate(cases.items())
        for case in own
    }


class Counts(Rounds):
    """Schedule of counted cases, each in the place of its arm."""

    def __init__(
        self, places: Mapping[str, Place], remaining: Sequence[Case], earlier: Iterable[Record]
    ) -> None:
        super().__init__(remaining, earlier)
        self._places = places

    def keep(self, record: Record) -> list[Record]:
        return [
            msgspec.structs.replace(kept, place=self._places.get(kept.id))
            for kept in super().keep(record)
        ]


def count(writer: SessionWriter, request: Request) -> None:
    """Counts the cases of a session that have no record, and closes it."""
    begun = time.monotonic()
    session = writer.session
    records = () if writer.earlier is None else writer.earlier.records
    remaining = find_pending(Run(session.header, records, cases=tuple(session.cases.values())))
    interpreters = session.header.interpreters
    places = places_of({arm: session.cases_of(arm).values() for arm in session.arms})
    schedule = Counts(places, (), records)
    # One arm before the other, so that both have the same cores.
    for arm in session.arms:
        own = {case.id for case in session.cases_of(arm).values()}
        left = tuple(case for case in remaining if case.id in own)
        with Workers(interpreters, request.pinning) as workers:
            number = lane_count(left, request.pinning)
            beside = f", {number} workers side by side" if number > 1 else ""
            request.say(f"{arm}: {pluralize(len(left), 'case')} to count{beside}")
            build(workers, left, request.say)
            task = Task(left, interpreters, profile_folder(request.report))
            schedule = Counts(places, left, schedule.records.values())
            with open_executor(LOCAL, task, workers, request.pinning) as executor:
                shown = request.make_progress(len(left), Work(f"instructions in {arm}, case"))
                execute(
                    WithDeadline(schedule, request.deadline, partial(_counted, schedule)),
                    executor,
                    writer.store,
                    shown,
                )
    if session.closing is None:
        statuses = Counter(record.status.value for record in schedule.records.values())
        writer.close_session(Closing(utc_now(), time.monotonic() - begun, dict(statuses)))


def _counted(schedule: Counts) -> str:
    return f"{pluralize(len(schedule.records), 'case')} counted"


def judge_counts(
    path: Path, fail_on: tuple[str, ...], limits: Limits, weight: str | None
) -> Comparison:
    """Compares the arms of a session of counts."""
    question = Question(
        fail_on=tuple(finding for finding in fail_on if finding in LOOKED_FOR),
        in_order=True,
        tolerances=limits.tolerances,
        limits_file=limits.path,
        weight=weight,
    )
    return compare(*read_arms(path), question)


def compare_counts(
    path: Path,
    fail_on: tuple[str, ...],
    limits: Limits,
    outputs: Iterable[Output],
    weight: str | None,
) -> int:
    """Compares the arms of a session of counts, and reports that; the exit code."""
    comparison = judge_counts(path, fail_on, limits, weight)
    code = report(comparison, outputs)
    # Counts without a verdict count if that is asked for, or if all are.
    decided = [row.verdict in SOUND for row in comparison.rows]
    is_open = not all(decided) if Verdict.AMBIGUOUS.value in fail_on else not any(decided)
    return code or (INCONCLUSIVE if is_open else 0)
