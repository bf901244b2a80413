"""Runs what a request has resolved, and prints its tables and lines."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from opperf.errors import FOUND, INTERRUPTED
from opperf.execution.progress import make_progress
from opperf.model import Run, Status
from opperf.reports import replays
from opperf.reports.formats import REPORT, TEXT, formats_of
from opperf.reports.replays import replayed
from opperf.reports.run_plans import plan_report
from opperf.reports.run_tables import is_swept, legend, row_count, run_text, wrap_all
from opperf.reports.summary import nothing_measured, summarise
from opperf.reports.text import write_text
from opperf.reports.writing import write_reports
from opperf.requests.declaring import unsaid
from opperf.requests.measuring import MeasuringRequest, ResolvedRun
from opperf.requests.running import EndedRun, InterruptedRun, Watch, perform
from opperf.results.columns import select_columns
from opperf.results.kept import display, wrapped_profiles_of
from opperf.results.lines import encode_lines
from opperf.results.messages import tell
from opperf.results.output import STDOUT, Output
from opperf.results.roofline import rooflines_of
from opperf.results.runfile import lines_of
from opperf.results.settings import command_of_case
from opperf.results.text import terminal_width

TABLE_LIMIT = 60
"""Largest number of rows printed as a table after a run; more would bury the summary."""

BOUNDS = "What bounds these times: --columns forward,bound,attainable,headroom."
"""Where the machine's peaks are known."""

Finished = Callable[[Path, ResolvedRun], int]
"""Is given the run file of a run that ended, whose output is written; an exit code."""


def command_line() -> str:
    """Returns the command that runs."""
    return shlex.join(["opperf", *sys.argv[1:]])


def measure(request: MeasuringRequest, finished: Finished | None = None) -> int:
    """Does what is asked for; the exit code. Raises `OpperfError` if the run cannot start."""
    resolved = request.resolve(unsaid if request.resumption.quiet else tell, command_line())
    return 0 if resolved is None else run_command(resolved, finished)


def watch_of(request: ResolvedRun) -> Watch:
    """Returns what prints what a run tells: results beside lines only where these go to a file."""
    for_results = request.output == STDOUT or request.list_format
    announce = partial(tell, stream=sys.stderr if for_results else sys.stdout)
    progress = partial(make_progress, sys.stderr, quiet=request.quiet, bar=request.bar)
    if request.quiet:
        return Watch(unsaid, unsaid, tell, progress)
    return Watch(tell, announce, tell, progress)


def run_command(request: ResolvedRun, finished: Finished | None = None) -> int:
    """Does what is asked for; the exit code, the higher one of its own and that of `finished`.
    Raises `OpperfError` if the run cannot start."""
    watch = watch_of(request)
    try:
        ended = perform(request, watch)
    except InterruptedRun as error:
        tell(f"interrupted; {error}")
        return INTERRUPTED
    if ended.run is None:
        _print_plan(ended, request)
        return 0
    code = _print_run(ended, ended.run, request, watch)
    return code if finished is None else max(code, finished(ended.path, request))


def _print_plan(ended: EndedRun, request: ResolvedRun) -> None:
    work = ended.work
    if request.list_format == "jsonl" and not isinstance(work.begun, Run):
        run = Run(work.begun, records=(), cases=work.plan.cases)
        sys.stdout.write(encode_lines(*lines_of(run)).decode())
    elif request.asked.list_only:
        report = plan_report(work.plan.cases, work.plan.excluded)
        name = request.list_format if request.list_format in formats_of(REPORT) else TEXT
        write_reports(report, [Output(STDOUT, name)])
    elif request.source.repeats:
        for case in work.remaining:
            print(command_of_case(case, ended.interpreters))


def _print_run(ended: EndedRun, run: Run, request: ResolvedRun, watch: Watch) -> int:
    records, name = run.records, ended.name
    if not request.quiet and request.source.is_forecast:
        for text in _tables(run, request, ended.elapsed_s):
            watch.announce(f"\n{text}")
    if request.source.repeats:
        for line in repeating(run):
            watch.announce(line)
    if request.output != STDOUT:
        also = ""
        if ended.kept is not None and request.output_format != "jsonl":
            also = f"; the run file is kept as {ended.kept.name}"
        profiles = wrapped_profiles_of(request.output)
        if profiles.is_dir():
            also += f"; what the profiling programs wrote is in {display(profiles)}"
        if ended.lock is not None:
            also += f"; the versions of its environments are in {display(ended.lock)}"
        watch.announce(f"\nwritten to {name}{also}")
        if is_swept(records) and request.output_format == "jsonl":
            watch.announce(f"Plot it with: {shlex.join(('opperf', 'plot', name))}")
    if not any(record.status is Status.OK for record in records):
        watch.warn(f"opperf: {nothing_measured(records)}")
        return FOUND
    failed = any(record.is_failed for record in records)
    return FOUND if failed and request.asked.resumption.strict else 0


def _tables(run: Run, request: ResolvedRun, elapsed_s: float) -> Iterator[str]:
    records, width = run.records, terminal_width()
    if row_count(records) <= TABLE_LIMIT:
        table = run_text(records, width, request.asked.columns)
        explained = legend(records, select_columns(records, request.asked.columns))
        if not request.asked.columns and any(map(rooflines_of, records)):
            explained.append(BOUNDS)
        yield f"{table}\n\n{wrap_all(explained, width)}"
    if replayed(records):
        yield write_text(replays.report_of(records), width).strip()
    yield summarise(run, elapsed_s, width)


def repeating(run: Run) -> Iterator[str]:
    """Yields the commands that repeat what did not end well, each a line."""
    failed = [record for record in run.records if record.status.is_failure]
    if failed:
        yield "\nTo repeat what failed:"
    for record in failed:
        yield f"{command_of_case(record.case, run.header.interpreters)}  # {record.status.value}"
