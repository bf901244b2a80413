"""The end of `run`: its output, its tables, and the lines that it prints."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from opperf.commands.run.experiments import (
    FAILURES,
    repeating,
)
from opperf.errors import FOUND, OutputError
from opperf.machine.pinning import cpus_arguments
from opperf.model import Record, Run, Status
from opperf.reports import replays, writing
from opperf.reports.replays import replayed
from opperf.reports.run_tables import is_swept, legend, row_count, run_text, wrap_all
from opperf.reports.summary import summarise
from opperf.reports.text import write_text
from opperf.requests.installing import write_lock
from opperf.requests.keeping import (
    keep_finished,
)
from opperf.requests.resolved_run import ResolvedRun
from opperf.results import output
from opperf.results.columns import select_columns
from opperf.results.kept import display, streams_of, wrapped_profiles_of
from opperf.results.messages import tell
from opperf.results.text import terminal_width
from opperf.results.verifications import is_wrong

TABLE_LIMIT = 60
"""Largest number of rows printed as a table after a run; more would bury the summary."""


def resume_advice(run_file: Path, request: ResolvedRun) -> str:
    """Returns where the records of a run that was cut short are, and what resumes it."""
    if request.suite is not None:
        # Its file and options say which benches there are.
        words = [word for word in shlex.split(request.command) if word != "--overwrite"]
        if not any(word.startswith("--resume") for word in words):
            words.append("--resume")
        return f"the records are in {run_file}. Resume with: {shlex.join(words)}"
    words = ["opperf", request.program, "--resume"]
    is_unnamed = request.is_default_output and request.output != run_file
    if is_unnamed:
        words.append(display(run_file))
    elif request.resume or request.output == run_file:
        words.append(str(run_file))
    if request.output != run_file or run_file.suffix != ".jsonl":
        words += ["-f", request.output_format]
    if request.output != run_file and not is_unnamed:
        words += ["-o", str(request.output)]
    words += cpus_arguments(request.cpus)
    return f"the records are in {run_file}. Resume with: {shlex.join(words)}"


def finish(result: Run, run_file: Path, request: ResolvedRun, elapsed_s: float) -> tuple[int, Path]:
    """Writes the output and prints what was measured; the exit code, and where the run file is."""
    if request.output != run_file:
        try:
            streams = streams_of(run_file)
            missing = writing.write(
                result, request.output, request.output_format, request.columns, streams
            )
        except OutputError as error:
            raise OutputError(f"{error}; {resume_advice(run_file, request)}") from error
        for line in missing:
            print_line(request, f"warning: {line}", error=True)
    name = display(request.output)
    kept, problem = keep_finished(run_file, request)
    records = result.records
    if request.suite is None:
        for text in _tables(result, request, elapsed_s):
            print_line(request, f"\n{text}")
    if problem:
        print_line(request, problem, error=True)
    if request.matrix is not None:
        for line in repeating(result):
            print_line(request, line)
    if request.output != output.STDOUT:
        also = ""
        if kept is not None and request.output_format != "jsonl":
            also = f"; the run file is kept as {kept.name}"
        profiles = wrapped_profiles_of(request.output)
        if profiles.is_dir():
            also += f"; what the profiling programs wrote is in {display(profiles)}"
        lock = write_lock(request.output, result.header.interpreters)
        if lock is not None:
            also += f"; the versions of its environments are in {display(lock)}"
        print_line(request, f"\nwritten to {name}{also}")
        if is_swept(records) and request.output_format == "jsonl":
            print_line(request, f"Plot it with: {shlex.join(('opperf', 'plot', name))}")
    written = kept.path if kept is not None and not run_file.is_file() else run_file
    if not any(record.status is Status.OK for record in records):
        print_line(request, nothing_measured(records), error=True)
        return FOUND, written
    failed = any(record.status in FAILURES or is_wrong(record) for record in records)
    return FOUND if request.strict and failed else 0, written


def _tables(result: Run, request: ResolvedRun, elapsed_s: float) -> Iterator[str]:
    """Yields the tables of a run's results, and the summary."""
    records, width = result.records, terminal_width()
    if row_count(records) <= TABLE_LIMIT:
        table = run_text(records, width, request.columns)
        explained = legend(records, select_columns(records, request.columns))
        yield f"{table}\n\n{wrap_all(explained, width)}"
    if replayed(records):
        yield write_text(replays.report_of(records), width).strip()
    yield summarise(result, elapsed_s, width)


def nothing_measured(records: Sequence[Record]) -> str:
    """Returns the line that ends a run without a measurement."""
    counts = Counter(record.status.value for record in records)
    statuses = ", ".join(f"{count} {status}" for status, count in counts.items())
    reason = next((record.reason for record in records if record.reason), "")
    return f"opperf: nothing was measured: {statuses}{reason and f'; e.g. {reason}'}"


def print_line(request: ResolvedRun, text: str, error: bool = False) -> None:
    """Prints a line of output, unless quiet, or an error; to standard error beside results."""
    if error or not request.quiet:
        for_results = request.output == output.STDOUT or request.lists_lines
        stream = sys.stderr if error or for_results else sys.stdout
        tell(text, stream)
