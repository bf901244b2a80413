"""Measures a configuration of PARAM's compute benchmarks, with the options of these."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from opperf.errors import OutputError, UsageError, suggest
from opperf.execution.workers import Workers
from opperf.formats.param.arguments import device_named
from opperf.formats.param.lines import case_line
from opperf.model import Case, Settings
from opperf.reading import READ_WHOLE, read_bytes
from opperf.requests.declaring import Option, Request, Say, build, declared
from opperf.requests.measuring import ResolvedRun
from opperf.requests.profiling import ProfilingPrograms
from opperf.requests.run import RunRequest
from opperf.results.output import check_output
from opperf.results.output import replace as replace_file
from opperf.sources.base import SourceFile, open_source
from opperf.sources.param.configuration import Configuration
from opperf.sources.varying import with_settings

QUIET = ("warning", "error", "critical")
"""Log levels at which only errors are printed."""

THREADS = 1
"""Compute threads, as PARAM sets them for steadier times."""

MODES = {"pt2_model": "compile", "cuda_graph": "graph"}


class ParamRequest(Request, frozen=True, kw_only=True):
    """A field for each of PARAM's options of that name."""

    config: Annotated[Path | None, Option("The configuration.", spellings="-c --config")] = None
    warmup: Annotated[int, Option("Calls before timing.", low=0, spellings="-w --warmup")] = 1
    iteration: Annotated[
        int,
        Option(
            "Timed calls. With -w 0 -i 0, the cases are expanded and written, and not measured.",
            low=0,
            spellings="-i --iteration",
        ),
    ] = 1
    backward: Annotated[
        bool, Option("Measure the backward pass too.", spellings="-b --backward")
    ] = False
    device: Annotated[
        str, Option("cpu, cuda, cuda:1.", metavar="DEVICE", spellings="-d --device")
    ] = "cpu"
    output_prefix: Annotated[
        str,
        Option(
            "Write to PREFIX_<pid>_<time>.json, or to this very file if it ends in .json.",
            metavar="PREFIX",
            spellings="-o --output-prefix",
        ),
    ] = "benchmark_result"
    resume_id: Annotated[
        str | None,
        Option(
            "Begin at this case: config|build|input, with or without `operator|` in front.",
            metavar="ID",
            spellings="-r --resume-id",
        ),
    ] = None
    stop_id: Annotated[
        str | None,
        Option("End before this case.", metavar="ID", spellings="-s --stop_id --stop-id"),
    ] = None
    append: Annotated[bool, Option("Append to the output file.", spellings="-a --append")] = False
    exec_mode: Annotated[
        Literal["discrete", "continuous", "continuous_events"],
        Option(
            "discrete and continuous time calls by the clock; continuous_events on a GPU by its "
            "events, many calls queued.",
            alone="discrete",
        ),
    ] = "discrete"
    cuda_l2_cache: Annotated[
        Literal["on", "off"],
        Option("off: a GPU's caches are flushed before each call.", alone="on"),
    ] = "on"
    cuda_graph: Annotated[bool, Option("Capture the call in a CUDA graph, and time that.")] = False
    pt2_model: Annotated[bool, Option("Compile the operator with torch.compile.")] = False
    profile: Annotated[
        bool, Option("Write a Chrome trace beside the results.", spellings="-p --profile")
    ] = False
    et: Annotated[bool, Option("Write an execution trace beside the results.")] = False
    programs: ProfilingPrograms = ProfilingPrograms()
    log_level: Annotated[
        Literal["debug", "info", "warning", "error", "critical"],
        Option(
            "WARNING and above: print only errors.  [default: INFO]", spellings="-l --log-level"
        ),
    ] = "info"

    def run(
        self, say: Say, command: str, measure: Callable[[ResolvedRun], int]
    ) -> tuple[int, tuple[str, ...]]:
        """Has `measure` measure the cases, as a run of this command, and writes PARAM's lines.
        Returns the exit code, and the files of traces that were written."""
        config = self._checked()
        source = open_source(config)
        if not isinstance(source, Configuration):
            raise UsageError(f"{config} is no configuration; `opperf run {config}` measures it")
        cases = select_cases(list(source.cases()), self.resume_id, self.stop_id)
        path = output_path(self.output_prefix)
        if not (self.warmup or self.iteration):
            _write(path, self._expanded(cases).encode(), self.append)
            return 0, ()
        # The folder of what profiling programs write has its name.
        target = path.with_name(f"{path.stem}_{os.getpid()}.json") if self.append else path
        resolved = self.run_request(target).resolve(say, command)
        assert resolved is not None
        run = replace(resolved, files=(SourceFile(config, source),))
        if self.resume_id or self.stop_id:
            ids = tuple(case.source_id for case in cases)
            run = replace(run, selection=msgspec.structs.replace(run.selection, ids=ids))
        code = measure(run)
        traces: tuple[str, ...] = ()
        if target.exists() and (self.profile or self.et):
            traces = self._trace(run, cases, path, target, say)
        if self.append and target.exists():
            _write(path, _content(target), append=True)
            target.unlink()
        return code, traces

    @property
    def is_quiet(self) -> bool:
        """Whether only errors are printed."""
        return self.log_level in QUIET

    def without_effect(self) -> list[str]:
        """Returns the fields of programs that are not used: scripts may have them for runs with a
        program and without."""
        return [name for name, _ in self.programs.without_effect()]

    def _checked(self) -> Path:
        if self.config is None:
            raise UsageError("name the configuration: -c FILE")
        if not self.config.is_file():
            raise UsageError(f"{self.config}: no such file")
        if self.warmup and not self.iteration:
            raise UsageError("-i 0 times nothing; with -w 0 too, cases are expanded and written")
        is_gpu = device_named(self.device, "-d").startswith("gpu")
        if self.cuda_graph and not is_gpu:
            raise UsageError("--cuda-graph captures calls on a GPU; add -d cuda")
        if self.cuda_graph and self.pt2_model:
            raise UsageError(
                "--cuda-graph and --pt2-model are two execution modes; use one of them"
            )
        return self.config

    def run_request(self, path: Path) -> RunRequest:
        """Returns the request to measure, without the file, that does what PARAM's options say."""
        device = device_named(self.device, "-d")
        is_gpu = device.startswith("gpu")
        # PARAM times calls by the clock, and on a GPU by events if it is asked to.
        by_events = is_gpu and self.exec_mode == "continuous_events"
        modes = tuple(mode for name, mode in MODES.items() if getattr(self, name))
        unused = self.without_effect()
        programs = {
            name: getattr(self.programs, name)
            for name, field in declared(ProfilingPrograms).items()
            if name not in unused and getattr(self.programs, name) != field.default
        }
        values = {
            "output_format": "param",
            "output_file": path,
            "overwrite": True,
            "warmup": self.warmup,
            "runs": self.iteration,
            "device": (device,),
            "profiler": ("events" if by_events else "python",),
            "threads": (THREADS,),
            "no_backward": not self.backward,
            "quiet": self.is_quiet,
            **({"cache": ("cold",)} if is_gpu and self.cuda_l2_cache == "off" else {}),
            **({"mode": modes} if modes else {}),
            **programs,
        }
        return build(RunRequest, values)

    def _trace(
        self, run: ResolvedRun, cases: Sequence[Case], path: Path, target: Path, say: Say
    ) -> tuple[str, ...]:
        traces = (("trace_file", "trace", self.profile), ("et_file", "et", self.et))
        files = {
            key: str(path.with_name(f"{path.stem}_{end}.json").resolve())
            for key, end, is_wanted in traces
            if is_wanted
        }
        settings: dict[str, Any] = {
            name: values[0] for name, values in run.axes.items() if name in OF_TRACES
        }
        passes = ("forward", "backward") if self.backward else ("forward",)
        own = [case for case in cases if case.target.framework == TRACED]
        with Workers() as workers:
            worker = workers.of(TRACED, Settings(threads=settings["threads"]))
            made = [
                with_settings(msgspec.structs.replace(call.case, passes=passes), settings)
                for call in worker.complete(tuple(own))
            ]
            failed = worker.trace(
                tuple(made), files.get("trace_file", ""), files.get("et_file", "")
            )
        for reason in dict.fromkeys(failed.values()):
            say(f"not traced: {reason}")
        lines = "".join(f"{json.dumps({key: file})}\n" for key, file in files.items())
        _write(target, lines.encode(), append=True)
        return tuple(files.values())

    def _expanded(self, cases: Sequence[Case]) -> str:
        now = datetime.now().isoformat(timespec="seconds")
        run_options = {name: getattr(self, name) for name in ("device", "warmup", "iteration")}
        lines = [
            {"run_options": run_options, "sys_info": {}, "start_time": now},
            *map(case_line, cases),
            {"finish_time": now},
        ]
        return "".join(f"{json.dumps(line)}\n" for line in lines)


def output_path(prefix: str) -> Path:
    """Returns the output file of a prefix, or the file itself if it ends in .json."""
    if prefix.endswith(".json"):
        return Path(prefix)
    return Path(f"{prefix}_{os.getpid()}_{int(time.time())}.json")


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


OF_TRACES = ("device", "threads", "mode")

TRACED = "torch"


def _write(path: Path, content: bytes, append: bool) -> None:
    check_output(path, overwrite=True)
    before = _content(path) if append and path.exists() else b""
    replace_file(path, before + content)


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, READ_WHOLE)
    except OSError as error:
        raise OutputError(f"{path} cannot be appended to: {error.strerror}") from error
