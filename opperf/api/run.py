"""Measures, and reads what was measured: `opperf.run("relu")`, `opperf.read("@last")`."""

from __future__ import annotations

import logging
import os
import shlex
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from opperf.api.options import command_line, parse_line
from opperf.api.run_result import RunResult
from opperf.commands.run import run as command
from opperf.commands.run.request import Request, read_request
from opperf.commands.run.work import measure_work, plan_work
from opperf.errors import UsageError
from opperf.execution.executor import check_executor
from opperf.execution.workers import Workers, build
from opperf.machine.pinning import Pinning
from opperf.metrics import check_instruments, metrics_by_name
from opperf.model import Run
from opperf.results.kept import display
from opperf.results.output import check_output
from opperf.results.run_files import locate_run
from opperf.results.runfile import read_run

LOG = logging.getLogger("opperf")

EXTENSION = ".jsonl"
"""That of run files."""

REFUSED = (
    "output_file",
    "output_format",
    "columns",
    "list_only",
    "dry_run",
    "resume",
    "retry",
    "strict",
    "debug",
)
"""Parameters of the command that have no meaning here, or another form."""


def run(
    *what: str | os.PathLike[str],
    framework: str | None = None,
    output: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    **options: Any,
) -> RunResult:
    """Measures operators in worker processes, as `opperf run` does, and returns the records.

    Parameters
    ----------
    what : str or path
        Operators by name or glob, functions as 'module:function' and 'file.py:function', and files
        of cases: recordings, configurations, snippets, run files, kept runs as '@last'. Without
        any, all operators, or those of the options `category` and `namespace`.
    framework : str, optional
        As on the command line: by default that which `what` is of, or the first installed one.
    output : str or path, optional
        A run file, to which each record is written as it is made, so that an interrupted run loses
        at most the case in flight; `opperf run --resume FILE` finishes it.
    quiet : bool
        False shows the progress, on standard error.
    **options
        Options of `opperf run`, named as there, with `_` for `-`: `dtype`, `size`, `warmup`,
        `runs`, `max_time`, `no_backward`, `shape={'data': (64, 64)}`, `arg={'axis': 1}`. Lists
        give a case for every combination, as the values between commas do; True sets a flag.

    Returns
    -------
    RunResult
        A record for each case; one that could not be measured has a status and a reason.

    Raises
    ------
    OpperfError
        For names and values that cannot be used, and for a file that exists, unless `overwrite` is
        set, or that cannot be written.
    """
    started = time.monotonic()
    given = {**options, "framework": framework, "quiet": quiet}
    line = command_line(command, what, given, REFUSED)
    words = shlex.join(["opperf", "run", *line])
    request = replace(read_request(*parse_line(command, line)), command=words)
    if output is None:
        with tempfile.TemporaryDirectory(prefix="opperf-") as folder:
            measured = _measure(request, Path(folder, f"run{EXTENSION}"), started)
        return RunResult(measured, measured.header.id)
    path = Path(output)
    if path.suffix != EXTENSION:
        raise UsageError(
            f"{path}: the output is a run file, whose name ends with {EXTENSION}; save() of the "
            "result writes other formats"
        )
    check_output(path, request.overwrite)
    return RunResult(_measure(request, path, started), str(path))


def _measure(request: Request, run_file: Path, started: float) -> Run:
    # What is broken in another package has to fail before hours are spent, not after.
    metrics_by_name()
    check_executor(request.executor)
    with Pinning(request.cpus) as pinning, Workers(request.interpreters, pinning) as workers:
        work = plan_work(workers, request, LOG.info)
        check_instruments([case.settings for case in work.remaining])
        build(workers, work.remaining, LOG.info)
        return measure_work(work, run_file, request, workers, pinning, started)


def read(path: str | os.PathLike[str]) -> RunResult:
    """Returns the content of a run file, or of a kept run as '@last', '@-2' and '@ID'; of a JSON,
    Markdown or CSV file that of the run which wrote it, if that is kept.

    Raises `OpperfError` for a file that is none, or is damaged.
    """
    file = locate_run(os.fspath(path))
    content, warnings = read_run(file)
    return RunResult(content, display(file), tuple(warnings))
