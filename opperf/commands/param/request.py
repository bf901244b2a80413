"""The request of `param`, read once from PARAM's options, and the words of `run` for it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from opperf.commands.run.wrapping import words_of
from opperf.errors import UsageError
from opperf.sources.param.arguments import device_named

QUIET = ("WARNING", "ERROR", "CRITICAL")
"""Log levels at which only errors are printed."""

THREADS = "1"
"""Compute threads, as PARAM sets them for steadier times."""

MODES = {"pt2_model": "compile", "cuda_graph": "graph"}
"""opperf's execution mode of an option."""


@dataclass(frozen=True)
class Request:
    """The request: a field for each of PARAM's options of that name."""

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
    profiling: tuple[str, ...]
    """Words of the options of programs that the cases are profiled under."""

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
    options = {**options, "profiling": tuple(words_of(options))}
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


def run_words(request: Request, path: Path) -> list[str]:
    """Returns the words of `opperf run`, without the file, that do what PARAM's options say."""
    device = device_named(request.device, "-d")
    is_gpu = device.startswith("gpu")
    # PARAM times calls by the clock, and on a GPU by events if it is asked to.
    by_events = is_gpu and request.exec_mode == "continuous_events"
    words = ["-f", "param", "-o", str(path), "--overwrite"]
    words += ["-w", str(request.warmup), "-r", str(request.iteration), "--ctx", device]
    words += ["--profiler", "events" if by_events else "python", "--threads", THREADS]
    words += [] if request.backward else ["--no-backward"]
    words += ["--cache", "cold"] if is_gpu and request.cuda_l2_cache == "off" else []
    for name, mode in MODES.items():
        words += ["--mode", mode] if getattr(request, name) else []
    words += ["--quiet"] if request.is_quiet else []
    return [*words, *request.profiling]
