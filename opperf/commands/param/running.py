"""The command `param`: PARAM's options as those of `run`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from opperf.commands.param.request import Request, output_path, run_words
from opperf.commands.run.request import Request as RunRequest
from opperf.commands.run.running import run_command
from opperf.errors import UsageError, suggest
from opperf.execution.workers import Workers
from opperf.model import Case, Settings
from opperf.results.messages import tell
from opperf.results.output import check_output
from opperf.results.output import replace as replace_file
from opperf.results.param_lines import case_line
from opperf.sources.base import SourceFile, open_source
from opperf.sources.param.configuration import Configuration
from opperf.sources.varying import with_settings

Parse = Callable[[list[str]], RunRequest]
"""Returns the request of `run` for its words."""


def param_command(request: Request, parse: Parse) -> int:
    """Runs the command and returns its exit code. Raises `UsageError` for a file that is no
    configuration, and the errors of `run_command`."""
    config = request.config
    source = open_source(config)
    if not isinstance(source, Configuration):
        raise UsageError(f"{config} is no configuration; `opperf run {config}` measures it")
    cases = select_cases(list(source.cases()), request.resume_id, request.stop_id)
    path = output_path(request.output_prefix)
    if not request.measures:
        _write(path, _expanded(request, cases), request.append)
        return 0
    return _measure(request, parse, SourceFile(config, source), cases, path)


def select_cases(cases: Sequence[Case], begin: str | None, end: str | None) -> list[Case]:
    """Returns the cases from the first of the id `begin` to before the next of the id `end`. Raises
    `UsageError` for an id that no case has there."""
    first = 0 if begin is None else _place(cases, begin, "-r", 0)
    last = len(cases) if end is None else _place(cases, end, "-s", first)
    found = list(cases[first:last])
    if not found:
        raise UsageError(f"no case from {begin} to before {end}")
    return found


def _place(cases: Sequence[Case], wanted: str, option: str, first: int) -> int:
    places = (i for i, case in enumerate(cases) if i >= first and wanted in case.source_ids)
    place = next(places, None)
    if place is None:
        known = [id for case in cases for id in case.source_ids]
        raise UsageError(
            f"{option} {wanted}: no case has this id{suggest(wanted, known)}; `opperf run FILE "
            "--list` prints them"
        )
    return place


def _measure(
    request: Request, parse: Parse, file: SourceFile, cases: Sequence[Case], path: Path
) -> int:
    """Measures the cases and returns the exit code."""
    # The folder of what profiling programs write has its name.
    target = path.with_name(f"{path.stem}_{os.getpid()}.json") if request.append else path
    run = replace(parse(run_words(request, target)), files=(file,))
    if request.resume_id or request.stop_id:
        ids = tuple(case.source_id for case in cases)
        run = replace(run, selection=msgspec.structs.replace(run.selection, ids=ids))
    code = run_command(run)
    if target.exists() and (request.profile or request.et):
        _trace(request, run, cases, path, target)
    if request.append and target.exists():
        _write(path, target.read_text(encoding="utf-8"), append=True)
        target.unlink()
    return code


def _trace(
    request: Request, run: RunRequest, cases: Sequence[Case], path: Path, target: Path
) -> None:
    """Writes the traces beside the output file, and names them in the results."""
    ends = {"trace_file": "trace", "et_file": "et"}
    wanted = {"trace_file": request.profile, "et_file": request.et}
    files = {
        key: str(path.with_name(f"{path.stem}_{end}.json").resolve())
        for key, end in ends.items()
        if wanted[key]
    }
    settings: dict[str, Any] = {
        name: values[0] for name, values in run.axes.items() if name in OF_TRACES
    }
    passes = ("forward", "backward") if request.backward else ("forward",)
    own = [case for case in cases if case.target.framework == TRACED]
    with Workers() as workers:
        worker = workers.of(TRACED, Settings(threads=settings["threads"]))
        made = [
            with_settings(msgspec.structs.replace(call.case, passes=passes), settings)
            for call in worker.complete(tuple(own))
        ]
        failed = worker.trace(tuple(made), files.get("trace_file", ""), files.get("et_file", ""))
    for reason in dict.fromkeys(failed.values()):
        tell(f"not traced: {reason}")
    lines = "".join(f"{json.dumps({key: file})}\n" for key, file in files.items())
    _write(target, lines, append=True)
    if not request.is_quiet:
        print(f"traces written to {', '.join(files.values())}")


OF_TRACES = ("device", "threads", "mode")
"""Settings of traced calls."""

TRACED = "torch"
"""The framework whose traces PARAM's options are for."""


def _write(path: Path, text: str, append: bool) -> None:
    """Writes a text to a file, after what it has if it is to be appended. Raises `OutputError`."""
    check_output(path, overwrite=True)
    before = path.read_text(encoding="utf-8") if append and path.exists() else ""
    replace_file(path, f"{before}{text}".encode())


def _expanded(request: Request, cases: Sequence[Case]) -> str:
    """Returns the lines of cases that are not measured."""
    now = datetime.now().isoformat(timespec="seconds")
    run_options = {name: getattr(request, name) for name in ("device", "warmup", "iteration")}
    lines = [
        {"run_options": run_options, "sys_info": {}, "start_time": now},
        *map(case_line, cases),
        {"finish_time": now},
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)
