"""Does a run that is resolved: plans it or goes on with one, measures, writes and keeps what was
measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from opperf.declared import PackageOptions
from opperf.environments.building import restore
from opperf.errors import OutputError
from opperf.execution.ahead import compile_ahead
from opperf.execution.case_source import Asked, plan_source
from opperf.execution.dumps import write_dumps
from opperf.execution.execute import CutShortError, execute_to_file, find_pending, plan_visits
from opperf.execution.executor import ISOLATED, LOCAL, OWN, Task, check_executor, open_executor
from opperf.execution.forecast import case_s, forecast, pace_of
from opperf.execution.paces import FEWEST_RECORDS, Learnt, keep_learnt, load_learnt
from opperf.execution.planning import check_names
from opperf.execution.profiling import check_programs, profiling
from opperf.execution.progress import Progress
from opperf.execution.run_header import make_header
from opperf.execution.workers import Workers, build, lane_count
from opperf.frameworks.mentioned import report_choice
from opperf.machine.core_use import read_gauge
from opperf.machine.pinning import Pinning
from opperf.metrics import metrics_by_name, process_settings
from opperf.model import PROGRAM, Case, Closing, Header, Interpreter, Run, Status, Wrapping
from opperf.model.runs import REQUEST
from opperf.reports import writing
from opperf.reports.run_plans import announcement, profiled_text
from opperf.requests.declaring import Say, fixed_values, warn
from opperf.requests.keeping import (
    check_output,
    check_resumed,
    choose_run_file,
    keep_cut_short,
    keep_finished,
    keep_replaced,
    read_unfinished,
    resume_advice,
)
from opperf.requests.measuring import ResolvedRun, quick_settings
from opperf.requests.places import write_lock
from opperf.requests.replays import WrittenTraces
from opperf.results import output
from opperf.results.kept import KeptRun, display, profile_folder, streams_of, wrapped_profiles_of
from opperf.results.lines import check_free
from opperf.results.output import STDOUT
from opperf.sources.registry import Plan


class Work(NamedTuple):
    """The plan of a run, and how much of it remains."""

    plan: Plan
    remaining: tuple[Case, ...]
    rounds: int
    begun: Header | Run
    """First line of the run file, or a run to resume."""

    @property
    def wrapping(self) -> Wrapping | None:
        """The programs that the cases are profiled under; None without one."""
        begun = self.begun
        return (begun.header if isinstance(begun, Run) else begun).wrapping


@dataclass(frozen=True)
class Watch:
    """Takes what a run says of itself while it is planned and measured."""

    say: Say
    """Is given what is chosen, and what takes time."""
    announce: Say
    """Is given what is measured, and what was written beside it."""
    warn: Say
    progress: Callable[..., Progress]
    """As `make_progress`, with its stream and ways given."""


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended, or was only planned."""

    work: Work
    interpreters: tuple[Interpreter, ...]
    elapsed_s: float = 0.0
    run: Run | None = None
    """The records and their header; None if nothing was to be measured, or could be."""
    path: Path = STDOUT
    """The run file."""
    name: str = ""
    """The output, as users know it."""
    kept: KeptRun | None = None
    lock: Path | None = None
    """The lock file that was written, if any."""


class InterruptedRun(KeyboardInterrupt):
    """Ctrl-C; the text says where the records are, and what resumes the run."""


def perform(request: ResolvedRun, watch: Watch, keeps: bool = True) -> EndedRun:
    """Does what is asked for, and keeps the run file unless `keeps` is false. Raises `OpperfError`
    if the run cannot start, and `InterruptedRun`."""
    started = time.monotonic()
    # What is broken in another package has to fail before hours are spent, not after.
    metrics_by_name()
    check_executor(request.executor)
    request = request.on_every_node()
    run_file = choose_run_file(request)
    if not request.asked.list_only and run_file.is_file():
        check_free(run_file)
    unfinished = read_unfinished(run_file, request, watch.warn) if request.resuming else None
    own = unfinished.header.interpreters if unfinished else ()
    interpreters = request.interpreters or restore(own, watch.say)
    with Pinning(request.asked.cpus) as pinning, Workers(interpreters, pinning) as workers:
        work = _plan(workers, run_file, unfinished, request, watch)
        planned = EndedRun(work, workers.interpreters)
        if request.asked.list_only:
            return planned
        if not work.plan.cases:
            _write_empty(work, run_file, request, watch.announce)
            return planned
        if not request.asked.dry_run:
            check_programs(work.remaining, work.wrapping, request.executor == LOCAL)
        paces = Paces(work, request, pinning)
        for text in filter(None, (_announcement(work, request, pinning), paces.text(request))):
            watch.announce(text)
        if request.asked.dry_run:
            return planned
        for text in keep_replaced(run_file, request):
            watch.announce(text)
        compile_work(work, request, workers, watch)
        begun = time.monotonic()
        try:
            run = measure_work(work, run_file, request, workers, pinning, started, watch)
        except (KeyboardInterrupt, CutShortError) as error:
            problem = keep_cut_short(run_file) if keeps else ""
            if problem:
                watch.warn(problem)
            advice = resume_advice(run_file, request)
            if isinstance(error, KeyboardInterrupt):
                raise InterruptedRun(advice) from None
            raise OutputError(f"{error}; {advice}") from error
    if not request.resuming:
        # Of a run that was resumed, some records are of another time.
        paces.keep(run, time.monotonic() - begun, watch.warn)
    elapsed_s = time.monotonic() - started
    _write_output(run, run_file, request, watch.warn)
    # What is kept, may be known by another name then.
    name, kept = display(request.output), None
    if keeps:
        kept, problem = keep_finished(run_file, request)
        if problem:
            watch.warn(problem)
    path = kept.path if kept is not None and not run_file.is_file() else run_file
    lock = write_lock(request.output, run.header.interpreters)
    return EndedRun(work, workers.interpreters, elapsed_s, run, path, name, kept, lock)


def _plan(
    workers: Workers, run_file: Path, unfinished: Run | None, request: ResolvedRun, watch: Watch
) -> Work:
    try:
        check_output(run_file, request)
    except OutputError:
        # A wrong name is reported before a file that is in the way.
        if request.has_operators:
            check_names(workers, request.framework.name, request.selection, request.axes)
        raise
    if unfinished:
        return resumed_work(unfinished, workers, request)
    if request.has_operators or request.source.repeats:
        report_choice(request.framework, watch.say)
    work = plan_work(workers, request, watch.say)
    for alias, name in work.plan.aliases.items():
        watch.announce(f"{alias} is an alias of {name}; its results are under {name}")
    return work


def plan_work(workers: Workers, request: ResolvedRun, say: Say) -> Work:
    """Returns the plan of a new run. Raises as `plan_source` does."""
    selection = request.selection
    asked = Asked(workers, selection, request.axes, request.files, request.overriding, say)
    found, values = plan_source(request.source, asked), fixed_values(request.asked)
    head = make_header(
        found.plan,
        selection,
        request.command,
        found.axes,
        request.asked.labels,
        workers.interpreters,
        request.wrapping,
        {**found.options, REQUEST: {n: own for n, (own, usual) in values.items() if own != usual}},
    )
    together, seed = request.executor != ISOLATED, selection.settings.seed
    remaining = plan_visits(found.plan.cases, selection.rounds, seed, together=together)
    begun = msgspec.structs.replace(head, benches=found.benches)
    return Work(found.plan, remaining, selection.rounds, begun)


def resumed_work(run: Run, workers: Workers, request: ResolvedRun) -> Work:
    """Returns what remains of an unfinished run. Raises as `check_resumed` does."""
    before = check_resumed(run, workers, request)
    together = request.executor != ISOLATED
    seed = before.settings.seed
    remaining = find_pending(run, request.retry, before.rounds, seed, together)
    plan = Plan(cases=run.cases, excluded=run.header.excluded, earlier=run.records)
    return Work(plan, remaining, before.rounds, run)


def _write_empty(work: Work, run_file: Path, request: ResolvedRun, say: Say) -> None:
    """Writes the run file of a part without cases, which is joined with the others'."""
    written = ""
    if request.output_format == "jsonl" and not request.asked.dry_run:
        assert isinstance(work.begun, Header)
        closing = Closing(finished=work.begun.started, elapsed_s=0.0, counts={})
        content = writing.runfile_text(Run(work.begun, records=(), closing=closing))
        output.replace(run_file, content.encode())
        written = f"; {display(request.output)} says so"
    say(f"no case is in this part{written}")


def _announcement(work: Work, request: ResolvedRun, pinning: Pinning) -> str:
    cores = _describe_cores(request.executor, work.remaining, pinning)
    ends = "; ".join(filter(None, (cores, profiled_text(work.wrapping))))
    plan = work.plan
    return announcement(plan.cases, len(work.remaining), work.rounds, request.output, ends)


def _describe_cores(executor: str, cases: Sequence[Case], pinning: Pinning) -> str:
    if executor not in OWN:
        return f"executor {executor}"
    own = "a process for each case" if executor == ISOLATED else ""
    number = 1 if own else lane_count(cases, pinning)
    if number > 1:
        return f"{number} workers side by side"
    processes = map(process_settings, (case.settings for case in cases))
    cores = pinning.describe({pinning.core_count(process, os.environ) for process in processes})
    return "; ".join(filter(None, [own, cores]))


class Paces:
    """How long a run takes: what earlier ones tell of that, and what it tells later ones."""

    def __init__(self, work: Work, request: ResolvedRun, pinning: Pinning) -> None:
        self._work, self._executor = work, request.executor
        frameworks = {case.target.framework for case in work.remaining} - {PROGRAM}
        self._learnt = Learnt()
        if len(frameworks) == 1:
            self._learnt = load_learnt(frameworks.pop(), request.executor)
        self._is_known = request.source.is_forecast
        learns = self._is_known and len(work.remaining) >= FEWEST_RECORDS
        self._gauge_s = read_gauge() if learns else 0.0
        self._lanes = lane_count(work.remaining, pinning) if request.executor == LOCAL else 1

    def text(self, request: ResolvedRun) -> str:
        """Returns the forecast; empty if there is none."""
        if not self._is_known:
            return ""
        chosen = "configurations" in request.explicit
        lacks_quick = request.files or request.resuming or request.quick or chosen
        quick = None if lacks_quick else quick_settings(request.explicit)
        work = self._work
        return forecast(
            work.remaining,
            work.rounds,
            quick,
            work.plan.earlier,
            self._learnt,
            self._gauge_s,
            self._lanes,
        ).text()

    def keep(self, run: Run, elapsed_s: float, say: Say) -> None:
        """Keeps the times of a run for later forecasts."""
        if self._gauge_s:
            gauges_s = self._gauge_s, read_gauge()
            own = (case_s, self._lanes, self._executor)
            warn(say, keep_learnt(run.records, elapsed_s, gauges_s, *own))


def compile_work(work: Work, request: ResolvedRun, workers: Workers, watch: Watch) -> None:
    """Compiles what remains, before there is a record that an interruption could keep."""
    build(workers, work.remaining, watch.say)
    if request.may_compile_ahead:
        shown = partial(watch.progress, title="compiled ")
        compile_ahead(workers, work.remaining, watch.say, shown)


def measure_work(
    work: Work,
    run_file: Path,
    request: ResolvedRun,
    workers: Workers,
    pinning: Pinning,
    started: float,
    watch: Watch,
) -> Run:
    """Measures what remains, writes each record as it is made, and returns the file's content.
    `started` is by the monotonic clock. Raises as `execute_to_file` and `open_executor` do."""
    task = Task(
        work.remaining,
        workers.interpreters,
        profile_folder(run_file, is_new=not request.resuming),
        watch.warn if request.echo else None,
        request.cluster,
        request.asked.cpus,
        work.begun.records if isinstance(work.begun, Run) else (),
        watch.say,
        PackageOptions(request.asked.added),
    )
    progress = watch.progress(len(work.remaining), pace=pace_of(work.remaining))
    folder = wrapped_profiles_of(run_file)
    with (
        open_executor(request.executor, task, workers, pinning) as measuring,
        profiling(measuring, work.wrapping, task, pinning, folder, workers.close) as executor,
    ):
        run = execute_to_file(
            run_file,
            work.begun,
            work.plan.cases,
            work.remaining,
            executor,
            progress,
            lambda: time.monotonic() - started,
        )
    for text in write_traces(workers, run, request.traces) if request.traces else ():
        watch.announce(text)
    if request.dumps:
        name = "stdout" if request.output == STDOUT else request.output.name
        folder = request.output.with_name(f"{name}.dumps")
        for text in write_dumps(workers, run, request.dumps, folder, request.traced_s):
            watch.announce(text)
    return run


def write_traces(workers: Workers, run: Run, files: WrittenTraces) -> Iterator[str]:
    """Writes the traces of an iteration of each replay of a run, and yields a line on them."""
    cases = [record.case for record in run.records if record.status is Status.OK]
    chrome, execution = (str(path.resolve()) if path else "" for path in files)
    if not cases:
        yield "no traces: nothing was replayed"
        return
    first = cases[0]
    worker = workers.of(first.target.framework, first.settings)
    failed = worker.trace(tuple(cases), chrome, execution)
    for reason in dict.fromkeys(failed.values()):
        yield f"not traced: {reason}"
    yield f"traces written to {', '.join(str(path) for path in files if path)}"


def _write_output(run: Run, run_file: Path, request: ResolvedRun, say: Say) -> None:
    if request.output == run_file:
        return
    form, columns, streams = request.output_format, request.asked.columns, streams_of(run_file)
    try:
        missing = writing.write(run, request.output, form, columns, streams)
    except OutputError as error:
        raise OutputError(f"{error}; {resume_advice(run_file, request)}") from error
    warn(say, missing)
