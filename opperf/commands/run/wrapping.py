"""Options of the programs that a run's cases are profiled under."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from opperf.errors import UsageError
from opperf.instruments.wrapped.programs import name_of
from opperf.model import Wrapper, Wrapping
from opperf.model.wrapping import BATCH_SIZE
from opperf.parameters import Command, combine, count_option, spelling
from opperf.reading import read_text


class Nsight(NamedTuple):
    """A program of NVIDIA's with options of its own, and PARAM's numbers of calls."""

    name: str
    title: str
    finds: str
    """Its results, in words."""
    warmup: int
    runs: int


NSIGHT = (
    Nsight("ncu", "Nsight Compute", "figures of its kernels, as metrics", 5, 1),
    Nsight("nsys", "Nsight Systems", "a timeline, in a report beside the run file", 5, 10),
)

WARMUP = 5
"""Calls before those under `--batch-cmd`, if `--warmup` does not say how many: PARAM's number."""


def _of_nsight(nsight: Nsight) -> Callable[[Command], Command]:
    return combine(
        click.option(
            f"--{nsight.name}",
            is_flag=True,
            help=f"Profile each case's calls under NVIDIA {nsight.title} too: {nsight.finds}.",
        ),
        click.option(
            f"--{nsight.name}-bin", metavar="PATH", help=f"The program.  [default: {nsight.name}]"
        ),
        click.option(
            f"--{nsight.name}-args-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help=f"File with further arguments of {nsight.name}.",
        ),
        click.option(
            f"--{nsight.name}-warmup",
            type=click.IntRange(min=0),
            metavar="CALLS",
            help=f"Calls of each pass before those under {nsight.name}.  [default: "
            f"{nsight.warmup}]",
        ),
        click.option(
            f"--{nsight.name}-iteration",
            type=click.IntRange(min=1),
            metavar="CALLS",
            help=f"Calls of each pass under {nsight.name}.  [default: {nsight.runs}]",
        ),
    )


wrapping_options = combine(
    *map(_of_nsight, NSIGHT),
    click.option(
        "--batch-cmd",
        metavar="COMMAND",
        help="Profile each case's calls under another program too, as 'perf stat', 'perf record' "
        "or 'vtune -collect hotspots -result-dir {report} --'; {report} is a path beside the run "
        "file. perf stat's counts are metrics. -w and -r are the numbers of calls.",
    ),
    count_option(
        "--run-batch-size",
        "batch_size",
        help="Most cases of a process that a program profiles; perf stat has one in each.  "
        f"[default: {BATCH_SIZE}]",
    ),
    click.option(
        "--batch-cuda-device",
        "cuda_device",
        type=click.IntRange(min=0),
        metavar="INDEX",
        help="The only GPU that these processes see, by CUDA's index.  [default: that of the "
        "cases]",
    ),
)
"""Programs that cases are profiled under."""

NAMES = (
    *(
        f"{nsight.name}{end}"
        for nsight in NSIGHT
        for end in ("", "_bin", "_args_file", "_warmup", "_iteration")
    ),
    *("batch_cmd", "batch_size", "cuda_device"),
)
"""Parameters of these options."""


def is_set(options: Mapping[str, Any], name: str) -> bool:
    """Whether the user has set an option: 0 is a value."""
    return options[name] is not None and options[name] is not False


def without_program(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the parameters of options that have no effect, each with the options of which it needs
    one."""
    for nsight in NSIGHT:
        own = [name for name in NAMES if name.startswith(f"{nsight.name}_")]
        for name in own if not options[nsight.name] else ():
            if is_set(options, name):
                yield name, f"--{nsight.name}"
    programs = [*(nsight.name for nsight in NSIGHT), "batch_cmd"]
    if not any(options[name] for name in programs):
        for name in ("batch_size", "cuda_device"):
            if is_set(options, name):
                yield name, " or ".join(map(spelling, programs))


def words_of(options: Mapping[str, Any]) -> Iterator[str]:
    """Yields the words of the options that are set."""
    for name in NAMES:
        if is_set(options, name):
            yield spelling(name)
            if options[name] is not True:
                yield str(options[name])


def read_wrapping(options: Mapping[str, Any]) -> Wrapping | None:
    """Returns the programs that the options name; None without one. Raises `UsageError` for an
    option that has no effect, a file that cannot be read and a command that is none."""
    for name, needed in without_program(options):
        raise UsageError(f"{spelling(name)} needs {needed}")
    wrappers = [_of_options(nsight, options) for nsight in NSIGHT if options[nsight.name]]
    if options["batch_cmd"] is not None:
        words = _split(options["batch_cmd"], "--batch-cmd")
        if not words:
            raise UsageError("--batch-cmd names no program; e.g. --batch-cmd 'perf stat'")
        name = name_of(words)
        if name in {nsight.name for nsight in NSIGHT}:
            raise UsageError(
                f"--batch-cmd: {name} has an option of its own; use --{name}, and "
                f"--{name}-args-file for its arguments"
            )
        warmup = options["warmup"]
        wrappers.append(Wrapper(name, words, WARMUP if warmup is None else warmup, options["runs"]))
    if not wrappers:
        return None
    size = options["batch_size"]
    return Wrapping(tuple(wrappers), BATCH_SIZE if size is None else size, options["cuda_device"])


def _of_options(nsight: Nsight, options: Mapping[str, Any]) -> Wrapper:
    path: Path | None = options[f"{nsight.name}_args_file"]
    warmup, runs = options[f"{nsight.name}_warmup"], options[f"{nsight.name}_iteration"]
    arguments: tuple[str, ...] = ()
    if path is not None:
        option = f"--{nsight.name}-args-file {path}"
        try:
            text = read_text(path)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not a file of text"
            raise UsageError(f"{option}: {reason}") from error
        arguments = _split(text, option)
    return Wrapper(
        nsight.name,
        (options[f"{nsight.name}_bin"] or nsight.name, *arguments),
        nsight.warmup if warmup is None else warmup,
        nsight.runs if runs is None else runs,
    )


def _split(text: str, option: str) -> tuple[str, ...]:
    """Returns words as a shell reads them. Raises `UsageError` for an open quotation."""
    try:
        return tuple(shlex.split(text, comments=True))
    except ValueError as error:
        raise UsageError(f"{option}: {error}: {text.strip()[:80]}") from error
