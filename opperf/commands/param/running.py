"""The command `param`: PARAM's options as those of `run`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

import opperf
from opperf.commands.run.running import run_command
from opperf.errors import UsageError, suggest
from opperf.execution.workers import Workers
from opperf.model import Case, Settings
from opperf.results.messages import tell
from opperf.results.output import check_output, replace
from opperf.results.param_lines import case_line
from opperf.sources.base import open_source
from opperf.sources.param.arguments import device_named
from opperf.sources.param.configuration import Configuration
from opperf.sources.varying import with_settings

Parse = Callable[[list[str]], tuple[dict[str, Any], dict[str, Any]]]
"""Returns the options of `run` for its words, all of them and those that are set."""

QUIET = ("WARNING", "ERROR", "CRITICAL")
"""Log levels at which only errors are printed."""

OUTSIDE = {
    "ncu": "opperf does not start Nsight Compute; run `ncu opperf param ...` without it",
    "nsys": "opperf does not start Nsight Systems; run `nsys profile opperf param ...` without it",
}
"""Options for programs that opperf does not start, with what to do."""

THREADS = "1"
"""Compute threads, as PARAM sets them for steadier times."""

MODES = {"pt2_model": "compile", "cuda_graph": "graph"}
"""opperf's execution mode of an option."""


def param_command(options: Mapping[str, Any], parse: Parse) -> int:
    """Runs the command and returns its exit code. Raises `UsageError` for options that contradict
    each other or cannot be used, and the errors of `run_command`."""
    if options["version"]:
        print(f"opperf {opperf.__version__}")
        return 0
    config: Path | None = options["config"]
    if config is None:
        raise UsageError("name the configuration: -c FILE")
    if not config.is_file():
        raise UsageError(f"{config}: no such file")
    _check(options)
    source = open_source(config)
    if not isinstance(source, Configuration):
        raise UsageError(f"{config} is no configuration; `opperf run {config}` measures it")
    cases = select_cases(list(source.cases()), options["resume_id"], options["stop_id"])
    path = output_path(options["output_prefix"])
    if not (options["warmup"] or options["iteration"]):
        _write(path, _expanded(options, cases), options["append"])
        return 0
    return _measure(options, parse, config, cases, path)


def _check(options: Mapping[str, Any]) -> None:
    """Raises `UsageError` for options that cannot be used."""
    for name, advice in OUTSIDE.items():
        if options[name]:
            raise UsageError(f"--{name}: {advice}")
    if options["warmup"] and not options["iteration"]:
        raise UsageError("-i 0 times nothing; with -w 0 too, cases are expanded and written")
    is_gpu = device_named(options["device"], "-d").startswith("gpu")
    if options["cuda_graph"] and not is_gpu:
        raise UsageError("--cuda-graph captures calls on a GPU; add -d cuda")
    if options["cuda_graph"] and options["pt2_model"]:
        raise UsageError("--cuda-graph and --pt2-model are two execution modes; use one of them")


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


def output_path(prefix: str) -> Path:
    """Returns the output file of a prefix, or the file itself if it ends in .json."""
    if prefix.endswith(".json"):
        return Path(prefix)
    return Path(f"{prefix}_{os.getpid()}_{int(time.time())}.json")


def run_words(options: Mapping[str, Any], config: Path, path: Path) -> list[str]:
    """Returns the words of `opperf run` that do what PARAM's options say."""
    device = device_named(options["device"], "-d")
    is_gpu = device.startswith("gpu")
    # PARAM times calls by the clock, and on a GPU by events if it is asked to.
    by_events = is_gpu and options["exec_mode"] == "continuous_events"
    words = [str(config), "-f", "param", "-o", str(path), "--overwrite"]
    words += ["-w", str(options["warmup"]), "-r", str(options["iteration"]), "--ctx", device]
    words += ["--profiler", "events" if by_events else "python", "--threads", THREADS]
    words += [] if options["backward"] else ["--no-backward"]
    words += ["--cache", "cold"] if is_gpu and options["cuda_l2_cache"] == "off" else []
    for name, mode in MODES.items():
        words += ["--mode", mode] if options[name] else []
    words += ["--quiet"] if options["log_level"].upper() in QUIET else []
    return words


def _measure(
    options: Mapping[str, Any], parse: Parse, config: Path, cases: Sequence[Case], path: Path
) -> int:
    """Measures the cases and returns the exit code."""
    target = path.with_name(f".{path.stem}_{os.getpid()}.json") if options["append"] else path
    raw, changed = parse(run_words(options, config, target))
    if options["resume_id"] or options["stop_id"]:
        ids = tuple(case.source_id for case in cases)
        raw, changed = {**raw, "ids": ids}, {**changed, "ids": ids}
    code = run_command(raw, changed)
    if target.exists() and (options["profile"] or options["et"]):
        _trace(options, raw, cases, path, target)
    if options["append"] and target.exists():
        _write(path, target.read_text(encoding="utf-8"), append=True)
        target.unlink()
    return code


def _trace(
    options: Mapping[str, Any],
    raw: Mapping[str, Any],
    cases: Sequence[Case],
    path: Path,
    target: Path,
) -> None:
    """Writes the traces beside the output file, and names them in the results."""
    ends = {"trace_file": "trace", "et_file": "et"}
    wanted = {"trace_file": options["profile"], "et_file": options["et"]}
    files = {
        key: str(path.with_name(f"{path.stem}_{end}.json").resolve())
        for key, end in ends.items()
        if wanted[key]
    }
    settings = {name: raw[name][0] for name in ("device", "threads", "mode") if raw[name]}
    passes = ("forward", "backward") if options["backward"] else ("forward",)
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
    if "--quiet" not in run_words(options, path, path):
        print(f"traces written to {', '.join(files.values())}")


TRACED = "torch"
"""The framework whose traces PARAM's options are for."""


def _write(path: Path, text: str, append: bool) -> None:
    """Writes a text to a file, after what it has if it is to be appended. Raises `OutputError`."""
    check_output(path, overwrite=True)
    before = path.read_text(encoding="utf-8") if append and path.exists() else ""
    replace(path, f"{before}{text}".encode())


def _expanded(options: Mapping[str, Any], cases: Sequence[Case]) -> str:
    """Returns the lines of cases that are not measured."""
    now = datetime.now().isoformat(timespec="seconds")
    run_options = {name: options[name] for name in ("device", "warmup", "iteration")}
    lines = [
        {"run_options": run_options, "sys_info": {}, "start_time": now},
        *map(case_line, cases),
        {"finish_time": now},
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)
