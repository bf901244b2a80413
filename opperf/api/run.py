"""Measures, and reads what was measured: `opperf.run("relu")`, `opperf.read("@last")`."""

from __future__ import annotations

import logging
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from opperf.api.calls import dtype_name
from opperf.api.functions import framework_of_functions, name_of
from opperf.api.run_result import RunResult
from opperf.commands.command import option_name
from opperf.commands.run import run as command
from opperf.commands.run.request import Request, read_request
from opperf.commands.run.running import measure_work, plan_work
from opperf.errors import UsageError, one_line, unknown
from opperf.execution.executor import LOCAL, check_executor
from opperf.execution.profiling import check_programs
from opperf.execution.workers import Workers, build
from opperf.machine.pinning import Pinning
from opperf.metrics import metrics_by_name
from opperf.model import Run
from opperf.parameters import explicit_options
from opperf.results.kept import display
from opperf.results.output import check_output
from opperf.results.run_files import locate
from opperf.results.runfile import read_run

What = str | os.PathLike[str] | Callable[..., Any]
"""Operators by name, functions and files."""


def command_line(
    command: click.Command,
    words: Iterable[What],
    options: Mapping[str, Any],
    refused: Iterable[str] = (),
) -> list[str]:
    """Returns the words of a command with these arguments and keywords, which are names of options
    with `_` for `-`; `import_` is that of a name that Python reserves. Raises `UsageError` for a
    keyword that is none, or an option of those `refused`."""
    known = {
        spelling.lstrip("-").replace("-", "_"): param
        for param in command.params
        if isinstance(param, click.Option) and param.name not in refused
        for spelling in param.opts
        if spelling.startswith("--")
    }
    line: list[str] = []
    for keyword, value in options.items():
        name = keyword.removesuffix("_")
        if name not in known:
            raise unknown("option", keyword, known)
        line += _option_words(known[name], value)
    return [*line, "--", *map(_argument, words)]


def parse_line(
    command: click.Command, line: Iterable[str]
) -> tuple[dict[str, Any], dict[str, object]]:
    """Returns all options of a command by name, and those of them that are set. Raises `UsageError`
    for a value that an option cannot have."""
    try:
        context = command.make_context(command.name, list(line))
    except click.UsageError as error:
        raise UsageError(one_line(error.format_message())) from error
    return context.params, explicit_options(context, context.params)


def _argument(word: object) -> str:
    if callable(word):
        return name_of(word)
    if not isinstance(word, (str, os.PathLike)):
        raise UsageError(f"{word!r} is neither the name of an operator, nor a file, nor a function")
    return os.fspath(word)


def _option_words(option: click.Option, value: Any) -> Iterator[str]:
    name = option_name(option)
    if value is None:
        return
    if option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{name} is True or False, not {value!r}")
        if value:
            yield name
        return
    write = WRITERS.get(option.name or "", str)
    is_listed = isinstance(value, (list, tuple))
    if isinstance(value, Mapping):
        values = [f"{key}={write(each)}" for key, each in value.items()]
    elif option.name == "shapes" and is_listed and all(isinstance(extent, int) for extent in value):
        values = [_shape(value)]
    elif is_listed:
        values = list(map(write, value))
    else:
        values = [write(value)]
    for text in values:
        yield f"{name}={text}"


def _shape(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _joined(separator: str) -> Callable[[Any], str]:
    def write(value: Any) -> str:
        several = isinstance(value, (list, tuple, range))
        return separator.join(map(str, value)) if several else str(value)

    return write


WRITERS: dict[str, Callable[[Any], str]] = {
    "dtype": dtype_name,
    "input_function": _argument,
    "shapes": _shape,
    "values": repr,
    "sweeps": _joined(","),
    "env": _joined("|"),
    "options": _joined("|"),
}
"""Functions that write a value as the option reads it, where that is not its text."""


LOG = logging.getLogger("opperf")

EXTENSION = ".jsonl"

REFUSED = (
    *("output_file", "output_format", "columns", "list_only", "dry_run", "resume", "retry"),
    *("strict", "debug"),
)
"""Parameters of the command that have no meaning here, or another form."""


def run(
    *what: What,
    framework: str | None = None,
    output: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    **options: Any,
) -> RunResult:
    """Measures operators in worker processes, as `opperf run` does, and returns the records.

    Parameters
    ----------
    what : str, path or function
        Operators by name or glob, functions, also as 'module:function' and 'file.py:function', and
        files of cases: recordings, configurations, snippets, run files, kept runs as '@last'.
        Without any, all operators, or those of the options `category` and `namespace`. A function
        of a script or of a notebook is handed over as source, with that of what it uses.
    framework : str, optional
        As on the command line: by default that which `what` is of, or uses, or the first installed
        one.
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
    given = {**options, "framework": framework or framework_of_functions(what), "quiet": quiet}
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
    request = request.on_every_node()
    with Pinning(request.cpus) as pinning, Workers(request.interpreters, pinning) as workers:
        work = plan_work(workers, request, LOG.info)
        check_programs(work.remaining, work.wrapping, request.executor == LOCAL)
        build(workers, work.remaining, LOG.info)
        return measure_work(work, run_file, request, workers, pinning, started)


def read(path: str | os.PathLike[str]) -> RunResult:
    """Returns the content of a run file, or of a kept run as '@last', '@-2' and '@ID'; of a JSON,
    Markdown or CSV file that of the run which wrote it, if that is kept. Raises `OpperfError` for a
    file that is none, or is damaged."""
    file = locate(os.fspath(path))
    content, warnings = read_run(file)
    return RunResult(content, display(file), tuple(warnings))
