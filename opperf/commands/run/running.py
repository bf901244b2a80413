"""The command `run`, from its options to the exit code."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from opperf.commands.run.announcement import announcement, cases_table, profiled_text
from opperf.commands.run.benches import plan_benches
from opperf.commands.run.experiments import (
    check_matrix,
    dump,
    plan_matrix,
    visits_of,
)
from opperf.commands.run.finishing import finish, print_line, resume_advice
from opperf.commands.run.replay import write_traces
from opperf.environments.restoring import restore
from opperf.errors import INTERRUPTED, OutputError, UsageError
from opperf.execution.ahead import compile_ahead
from opperf.execution.execute import CutShortError, execute_to_file, find_pending, plan_visits
from opperf.execution.executor import ISOLATED, LOCAL, OWN, Task, check_executor, open_executor
from opperf.execution.forecast import case_s, forecast, pace_of
from opperf.execution.paces import FEWEST_RECORDS, Learnt, keep_learnt, load_learnt
from opperf.execution.planning import check_names, framework_axes, plan_run, process_of
from opperf.execution.profiling import check_programs, profiling
from opperf.execution.progress import Progress, make_progress
from opperf.execution.run_header import make_header, read_selection
from opperf.execution.workers import Workers, build, lane_count
from opperf.experiments.repeating import command_of_case
from opperf.frameworks.mentioned import report_choice
from opperf.machine.core_use import read_gauge
from opperf.machine.pinning import Pinning
from opperf.metrics import metrics_by_name, process_settings
from opperf.model import PROGRAM, Case, Closing, Header, Run, Wrapping
from opperf.reports import writing
from opperf.reports.formats import RUN, format_named
from opperf.reports.writing import runfile_text
from opperf.requests.keeping import (
    check_axes,
    check_same,
    check_same_programs,
    check_selection,
    choose_run_file,
    keep_cut_short,
    keep_replaced,
    may_replace,
    read_unfinished,
)
from opperf.requests.resolved_run import ResolvedRun, quick_settings
from opperf.results import output
from opperf.results.kept import display, profile_folder, wrapped_profiles_of
from opperf.results.lines import check_free
from opperf.results.messages import tell
from opperf.results.runfile import encode_line, lines_of
from opperf.results.text import terminal_width, wrap
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


Finished = Callable[[Path], int]
"""Is given the run file of a run that ended, whose output is written; an exit code."""


def run_command(request: ResolvedRun, finished: Finished | None = None) -> int:
    """Does what is asked for; the exit code, the higher one of its own and that of `finished`.
    Raises `OpperfError` if the run cannot start."""
    started = time.monotonic()
    # What is broken in another package has to fail before hours are spent, not after.
    metrics_by_name()
    check_executor(request.executor)
    request = request.on_every_node()
    run_file = choose_run_file(request)
    if not request.list_only and run_file.is_file():
        check_free(run_file)
    unfinished = None
    if request.resuming:
        unfinished, warnings = read_unfinished(run_file, request)
        for warning in warnings:
            print_line(request, f"warning: {warning}", error=True)
    refused = _refused_output(run_file, request)
    own = unfinished.header.interpreters if unfinished else ()
    interpreters = request.interpreters or restore(own, partial(_log, request))
    with Pinning(request.cpus) as pinning, Workers(interpreters, pinning) as workers:
        if refused is not None:
            # A wrong name is reported before a file that is in the way.
            if request.has_operators:
                check_names(workers, request.framework.name, request.selection, request.axes)
            raise refused
        if unfinished:
            work = _resume_work(unfinished, workers, request)
        else:
            if request.has_operators or request.matrix is not None:
                report_choice(request.framework, partial(_log, request))
            work = plan_work(workers, request, partial(_log, request))
        for alias, name in work.plan.aliases.items():
            print_line(request, f"{alias} is an alias of {name}; its results are under {name}")
        if request.list_only:
            if not request.lists_lines or isinstance(work.begun, Run):
                print(cases_table(work.plan, terminal_width()))
                return 0
            for begun_line in lines_of(Run(work.begun, records=(), cases=work.plan.cases)):
                sys.stdout.write(encode_line(begun_line).decode())
            return 0
        if not work.plan.cases:
            return _keep_empty(work, run_file, request)
        if not request.dry_run:
            check_programs(work.remaining, work.wrapping, request.executor == LOCAL)
        cores = _describe_cores(request.executor, work.remaining, pinning)
        ends = "; ".join(filter(None, (cores, profiled_text(work.wrapping))))
        line = announcement(work.plan, work.remaining, work.rounds, request.output, ends)
        width = terminal_width()
        chosen = "configurations" in request.explicit
        lacks_quick = request.files or request.resuming or request.quick or chosen
        quick = None if lacks_quick else quick_settings(request.explicit)
        frameworks = {case.target.framework for case in work.remaining} - {PROGRAM}
        learnt = Learnt()
        if len(frameworks) == 1:
            learnt = load_learnt(frameworks.pop(), request.executor)
        # How long a program takes, only its own limit says.
        learns = request.suite is None and len(work.remaining) >= FEWEST_RECORDS
        gauge_s = read_gauge() if learns else 0.0
        lanes = lane_count(work.remaining, pinning) if request.executor == LOCAL else 1
        expected = ""
        if request.suite is None:
            expected = forecast(
                work.remaining, work.rounds, quick, work.plan.earlier, learnt, gauge_s, lanes
            ).text()
        for text in filter(None, (line, expected)):
            print_line(request, text if width is None else wrap(text, width))
        if request.dry_run:
            for case in work.remaining if request.matrix is not None else ():
                print(command_of_case(case, workers.interpreters))
            return 0
        for text in keep_replaced(run_file, request):
            print_line(request, text)
        build(workers, work.remaining, partial(_log, request))
        if request.may_compile_ahead:
            compile_ahead(
                workers,
                work.remaining,
                partial(_log, request),
                partial(show_compiling, request),
            )
        begun = time.monotonic()
        try:
            result = measure_work(work, run_file, request, workers, pinning, started)
        except KeyboardInterrupt:
            _keep_cut_short(run_file, request)
            print_line(request, f"interrupted; {resume_advice(run_file, request)}", error=True)
            return INTERRUPTED
        except CutShortError as error:
            _keep_cut_short(run_file, request)
            raise OutputError(f"{error}; {resume_advice(run_file, request)}") from error
        if request.traces is not None:
            for text in write_traces(workers, result, request.traces):
                print_line(request, text)
        for text in dump(workers, result, request):
            print_line(request, text)
    if not request.resuming and gauge_s:
        # Of a run that was resumed, some records are of another time.
        elapsed_s, gauges_s = time.monotonic() - begun, (gauge_s, read_gauge())
        for warning in keep_learnt(
            result.records, elapsed_s, gauges_s, case_s, lanes, request.executor
        ):
            print_line(request, f"warning: {warning}", error=True)
    code, written = finish(result, run_file, request, time.monotonic() - started)
    return code if finished is None else max(code, finished(written))


def _keep_empty(work: Work, run_file: Path, request: ResolvedRun) -> int:
    """Writes the run file of a part without cases, which is joined with the others', and returns
    the exit code."""
    written = ""
    if request.output_format == "jsonl" and not request.dry_run:
        assert isinstance(work.begun, Header)
        closing = Closing(finished=work.begun.started, elapsed_s=0.0, counts={})
        content = runfile_text(Run(work.begun, records=(), closing=closing))
        output.replace(run_file, content.encode())
        written = f"; {display(request.output)} says so"
    print_line(request, f"no case is in this part{written}")
    return 0


def plan_work(workers: Workers, request: ResolvedRun, say: Callable[[str], None]) -> Work:
    """Returns the plan of a new run. Raises `UsageError` if it has no case."""
    selection = request.selection
    if request.matrix is not None:
        plan, head = plan_matrix(workers, request, request.matrix, say)
        return Work(plan, visits_of(plan, request), selection.rounds, head)
    if request.suite is not None:
        plan, head = plan_benches(workers, request, request.suite, say)
        return Work(plan, visits_of(plan, request), selection.rounds, head)
    plan, axes = plan_run(
        workers,
        request.framework.name,
        selection,
        request.axes,
        request.files,
        request.overriding,
        say,
    )
    if selection.partition is None:
        # Of few cases a part may have none.
        _check_plan(plan)
    head = make_header(
        plan,
        selection,
        request.command,
        axes,
        request.labels,
        workers.interpreters,
        request.wrapping,
    )
    remaining = plan_visits(plan.cases, selection.rounds, selection.settings.seed)
    return Work(plan, remaining, selection.rounds, head)


def _check_plan(plan: Plan) -> None:
    if plan.cases:
        return
    if not plan.excluded:
        raise UsageError(
            "no operator matches --category, --namespace and --exclude together; `opperf list` "
            "prints all operators"
        )
    # Of overloads, the one that a plain name calls is the one meant.
    name, reason = min(plan.excluded.items(), key=lambda item: "." in item[0])
    if len(plan.excluded) == 1:
        raise UsageError(
            f"nothing to run: the selected operator has no benchmark: {name}: {reason}"
        )
    raise UsageError(
        f"nothing to run: none of the {len(plan.excluded)} selected operators has a benchmark, "
        f"e.g. {name}: {reason}"
    )


def measure_work(
    work: Work,
    run_file: Path,
    request: ResolvedRun,
    workers: Workers,
    pinning: Pinning,
    started: float,
) -> Run:
    """Measures what remains, writes each record as it is made, and returns the file's content.
    `started` is by the monotonic clock. Raises as `execute_to_file` and `open_executor` do."""
    profiles = profile_folder(run_file, is_new=not request.resuming)
    echo = partial(print_line, request, error=True) if request.echo else None
    task = Task(
        work.remaining,
        workers.interpreters,
        profiles,
        echo,
        request.cluster,
        request.cpus,
        work.begun.records if isinstance(work.begun, Run) else (),
        partial(_log, request),
    )
    pace = pace_of(work.remaining)
    progress = make_progress(sys.stderr, len(work.remaining), request.quiet, pace, request.bar)
    folder = wrapped_profiles_of(run_file)
    with (
        open_executor(request.executor, task, workers, pinning) as measuring,
        profiling(measuring, work.wrapping, task, pinning, folder, workers.close) as executor,
    ):
        return execute_to_file(
            run_file,
            work.begun,
            work.plan.cases,
            work.remaining,
            executor,
            progress,
            lambda: time.monotonic() - started,
        )


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


def _resume_work(run: Run, workers: Workers, request: ResolvedRun) -> Work:
    """Returns the plan and the remaining cases of an unfinished run. Raises `RunFileError`."""
    explicit = request.explicit
    frameworks = dict.fromkeys(case.target.framework for case in run.cases)
    if request.framework.is_named and request.matrix is None:
        for framework in frameworks:
            check_same("--framework", framework, request.framework.name)
    before, axes_before = read_selection(run)
    check_selection(before, request.selection, explicit)
    if request.matrix is not None:
        check_matrix(run, request.matrix, explicit)
    # Of files and models they are kept as they were set, of operators under canonical names.
    others = {
        name: values
        for name, values in request.axes.items()
        if name in explicit and axes_before.get(name) != values
    }
    if others:
        process = process_of(axes_before, before.settings.imports)
        found = workers.of(next(iter(frameworks)), process).resolve(framework_axes(others)).axes
        asked = {name: found.get(name, values) for name, values in others.items()}
        check_axes(axes_before, asked, explicit)
    remaining = find_pending(
        run,
        request.retry,
        before.rounds,
        before.settings.seed,
        together=request.executor != ISOLATED,
    )
    if request.wrapping is not None:
        check_same_programs(run.header.wrapping, request.wrapping)
    plan = Plan(cases=run.cases, excluded=run.header.excluded, earlier=run.records)
    return Work(plan, remaining, before.rounds, run)


def _refused_output(run_file: Path, request: ResolvedRun) -> OutputError | None:
    """Returns the error of an output that could not be written after the run, or that would replace
    an unfinished run; None if there is none."""
    if request.list_only or (request.resuming and request.output == run_file):
        return None
    try:
        if format_named(request.output_format, RUN).folder is not None:
            writing.check_folder(request.output)
        may_overwrite = request.overwrite or may_replace(request)
        output.check_output(request.output, may_overwrite, request.paths)
    except OutputError as error:
        return error
    is_replaced = request.overwrite or run_file == request.output
    if not request.resuming and not is_replaced and run_file.exists():
        return OutputError(
            f"an earlier run to {output.display_path(request.output)} was interrupted, and its "
            f"records are in {run_file}; finish it with --resume, or replace it with --overwrite"
        )
    return None


def _keep_cut_short(run_file: Path, request: ResolvedRun) -> None:
    problem = keep_cut_short(run_file)
    if problem:
        print_line(request, problem, error=True)


def show_compiling(request: ResolvedRun, total: int) -> Progress:
    """Returns what shows how many cases are compiled before the first is measured."""
    return make_progress(sys.stderr, total, request.quiet, bar=request.bar, title="compiled ")


def _log(request: ResolvedRun, text: str) -> None:
    if not request.quiet:
        tell(text)
