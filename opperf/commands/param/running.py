"""The command `param`: the request of its options, and `run` with the words that do the same."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from opperf.commands.options import take
from opperf.commands.running import run_command
from opperf.errors import OutputError, UsageError, suggest
from opperf.execution.workers import Workers
from opperf.model import Case, Settings
from opperf.reading import READ_WHOLE, read_bytes
from opperf.requests.declaring import build, declared
from opperf.requests.profiling import ProfilingPrograms
from opperf.requests.resolved_run import ResolvedRun
from opperf.requests.run import RunRequest
from opperf.results.messages import tell
from opperf.results.output import check_output
from opperf.results.output import replace as replace_file
from opperf.results.param_lines import case_line
from opperf.sources.base import SourceFile, open_source
from opperf.sources.param.arguments import device_named
from opperf.sources.param.configuration import Configuration
from opperf.sources.varying import with_settings

QUIET = ("WARNING", "ERROR", "CRITICAL")
"""Log levels at which only errors are printed."""

THREADS = 1
"""Compute threads, as PARAM sets them for steadier times."""

MODES = {"pt2_model": "compile", "cuda_graph": "graph"}


@dataclass(frozen=True)
class Request:
    """A field for each of PARAM's options of that name."""

    config: Path
    warmup: int
    iteration: int
    backward: bool
    device: str
    output_prefix: str
    resume_id: str | None
    stop_id: str | None
    append: bool
    exec_mode: str
    cuda_l2_cache: str
    cuda_graph: bool
    pt2_model: bool
    profile: bool
    et: bool
    log_level: str
    profiling: ProfilingPrograms
    """Programs that the cases are profiled under."""

    @property
    def is_quiet(self) -> bool:
        return self.log_level.upper() in QUIET

    @property
    def measures(self) -> bool:
        """Whether the cases are measured, and not only expanded and written."""
        return bool(self.warmup or self.iteration)


def read_request(options: Mapping[str, Any]) -> Request:
    """Returns the request of the command's options. Raises `UsageError` for those that contradict
    each other or cannot be used."""
    if options["config"] is None:
        raise UsageError("name the configuration: -c FILE")
    options = {**options, "profiling": take(ProfilingPrograms, options)}
    request = Request(**{field.name: options[field.name] for field in fields(Request)})
    if not request.config.is_file():
        raise UsageError(f"{request.config}: no such file")
    if request.warmup and not request.iteration:
        raise UsageError("-i 0 times nothing; with -w 0 too, cases are expanded and written")
    is_gpu = device_named(request.device, "-d").startswith("gpu")
    if request.cuda_graph and not is_gpu:
        raise UsageError("--cuda-graph captures calls on a GPU; add -d cuda")
    if request.cuda_graph and request.pt2_model:
        raise UsageError("--cuda-graph and --pt2-model are two execution modes; use one of them")
    return request


def output_path(prefix: str) -> Path:
    """Returns the output file of a prefix, or the file itself if it ends in .json."""
    if prefix.endswith(".json"):
        return Path(prefix)
    return Path(f"{prefix}_{os.getpid()}_{int(time.time())}.json")


def run_request(request: Request, path: Path) -> RunRequest:
    """Returns the request to measure, without the file, that does what PARAM's options say."""
    device = device_named(request.device, "-d")
    is_gpu = device.startswith("gpu")
    # PARAM times calls by the clock, and on a GPU by events if it is asked to.
    by_events = is_gpu and request.exec_mode == "continuous_events"
    modes = tuple(mode for name, mode in MODES.items() if getattr(request, name))
    programs = {
        name: getattr(request.profiling, name)
        for name, field in declared(ProfilingPrograms).items()
        if getattr(request.profiling, name) != field.default
    }
    values = {
        "output_format": "param",
        "output_file": path,
        "overwrite": True,
        "warmup": request.warmup,
        "runs": request.iteration,
        "device": (device,),
        "profiler": ("events" if by_events else "python",),
        "threads": (THREADS,),
        "no_backward": not request.backward,
        "quiet": request.is_quiet,
        **({"cache": ("cold",)} if is_gpu and request.cuda_l2_cache == "off" else {}),
        **({"mode": modes} if modes else {}),
        **programs,
    }
    return build(RunRequest, values)


def param_command(request: Request) -> int:
    """Runs the command; the exit code. Raises `UsageError` for a file that is no configuration."""
    config = request.config
    source = open_source(config)
    if not isinstance(source, Configuration):
        raise UsageError(f"{config} is no configuration; `opperf run {config}` measures it")
    cases = select_cases(list(source.cases()), request.resume_id, request.stop_id)
    path = output_path(request.output_prefix)
    if not request.measures:
        _write(path, _expanded(request, cases).encode(), request.append)
        return 0
    return _measure(request, SourceFile(config, source), cases, path)


def select_cases(cases: Sequence[Case], begin: str | None, end: str | None) -> list[Case]:
    """Returns the cases from the id `begin` to before the next id `end`. Raises `UsageError` for an
    id that no case has there."""
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


def _measure(request: Request, file: SourceFile, cases: Sequence[Case], path: Path) -> int:
    # The folder of what profiling programs write has its name.
    target = path.with_name(f"{path.stem}_{os.getpid()}.json") if request.append else path
    resolved = run_request(request, target).resolve(tell, shlex.join(["opperf", *sys.argv[1:]]))
    assert resolved is not None
    run = replace(resolved, files=(file,))
    if request.resume_id or request.stop_id:
        ids = tuple(case.source_id for case in cases)
        run = replace(run, selection=msgspec.structs.replace(run.selection, ids=ids))
    code = run_command(run)
    if target.exists() and (request.profile or request.et):
        _trace(request, run, cases, path, target)
    if request.append and target.exists():
        _write(path, _content(target), append=True)
        target.unlink()
    return code


def _trace(
    request: Request, run: ResolvedRun, cases: Sequence[Case], path: Path, target: Path
) -> None:
    """Writes the traces beside the output file, and names them in the results."""
    traces = (("trace_file", "trace", request.profile), ("et_file", "et", request.et))
    files = {
        key: str(path.with_name(f"{path.stem}_{end}.json").resolve())
        for key, end, is_wanted in traces
        if is_wanted
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
    _write(target, lines.encode(), append=True)
    if not request.is_quiet:
        print(f"traces written to {', '.join(files.values())}")


OF_TRACES = ("device", "threads", "mode")

TRACED = "torch"


def _write(path: Path, content: bytes, append: bool) -> None:
    """Writes a text, after what the file has if it is to be appended. Raises `OutputError`."""
    check_output(path, overwrite=True)
    before = _content(path) if append and path.exists() else b""
    replace_file(path, before + content)


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, READ_WHOLE)
    except OSError as error:
        raise OutputError(f"{path} cannot be appended to: {error.strerror}") from error


def _expanded(request: Request, cases: Sequence[Case]) -> str:
    now = datetime.now().isoformat(timespec="seconds")
    run_options = {name: getattr(request, name) for name in ("device", "warmup", "iteration")}
    lines = [
        {"run_options": run_options, "sys_info": {}, "start_time": now},
        *map(case_line, cases),
        {"finish_time": now},
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)
