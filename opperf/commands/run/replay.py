"""The options of `opperf run --replay`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from opperf.errors import UsageError
from opperf.execution.workers import Workers
from opperf.model import Run, Status, TraceTarget
from opperf.parameters import choice_option, combine
from opperf.results.output import check_output
from opperf.sources.base import SourceFile
from opperf.sources.traces.archives import folder_files
from opperf.sources.traces.cases import FRAMEWORK
from opperf.sources.traces.parts import read_steps
from opperf.sources.traces.replays import ALL_RANKS, open_replay

GAPS = ("none", "recorded")


def parse_skip(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> Mapping[str, str]:
    """Parses `aten::copy_=a copy` into a pattern and a reason, which may be empty."""
    found = {}
    for value in values:
        name, _, reason = value.partition("=")
        if not name:
            raise click.BadParameter(f"{value!r} names no operator", ctx, param)
        found[name] = reason
    return found


def parse_ranks(ctx: click.Context, param: click.Parameter, text: str) -> int:
    """Parses a number of ranks; `ALL_RANKS` of `all`."""
    if text.strip().lower() == "all":
        return ALL_RANKS
    if not text.strip().isdecimal() or not 1 <= int(text) <= MOST_RANKS:
        raise click.BadParameter(f"{text!r} is neither `all` nor from 1 to {MOST_RANKS}")
    return int(text)


MOST_RANKS = 256
"""Most ranks: each is a process of this machine that imports the framework."""

FILE = click.Path(dir_okay=False, path_type=Path)

replay_options = combine(
    click.option(
        "--replay",
        is_flag=True,
        help="Replay the calls of traces in their order, with their data flow: an iteration is a "
        "call.",
    ),
    click.option(
        "--steps",
        default="",
        metavar="A[:B]",
        help="Replay the step of this number, by its label in the trace, or those before B.",
    ),
    click.option(
        "--subgraph", default="", metavar="LABEL", help="Replay the calls below this label."
    ),
    choice_option("--gaps", choices=GAPS, help="Pauses between replayed calls."),
    click.option(
        "--ranks",
        default="1",
        metavar="N|all",
        callback=parse_ranks,
        help="Replay with a process for each of N ranks, or of all ranks of a folder, whose "
        "collective operations gloo makes. Without it, these are waits.",
    ),
    click.option(
        "--skip",
        multiple=True,
        metavar="NAME[=REASON]",
        callback=parse_skip,
        help="Leave out the replay's calls of this operator, or of all that a pattern names.",
    ),
    click.option(
        "--delay",
        "delay_ms",
        default=0.0,
        type=click.FloatRange(min=0),
        metavar="MS",
        help="Milliseconds of pause before each iteration of a replay.",
    ),
    click.option(
        "--et",
        default=None,
        type=FILE,
        metavar="FILE",
        help="Write PyTorch's execution trace of an iteration of the replay.",
    ),
    click.option(
        "--profile",
        default=None,
        type=FILE,
        metavar="FILE",
        help="Write the profiler's Chrome trace of an iteration of the replay.",
    ),
)

ONLY = {
    "steps": "--steps",
    "subgraph": "--subgraph",
    "gaps": "--gaps",
    "ranks": "--ranks",
    "skip": "--skip",
    "delay_ms": "--delay",
    "et": "--et",
    "profile": "--profile",
}
"""Options of replays alone, by parameter."""


class WrittenTraces(NamedTuple):
    """Traces that are written of a replay's iteration; None for one that is not wanted."""

    chrome: Path | None
    execution: Path | None


def read_replay(options: Mapping[str, Any], explicit: Collection[str]) -> TraceTarget | None:
    """Returns the options of a replay, as a target without its trace; None if none is wanted.

    Raises `UsageError` for an option that needs `--replay`, and for steps that are no range.
    """
    if not options["replay"]:
        for name, option in ONLY.items():
            if name in explicit:
                raise UsageError(f"{option} needs --replay")
        return None
    if options["steps"]:
        read_steps(options["steps"])
    return TraceTarget(
        FRAMEWORK,
        file="",
        digest="",
        steps=options["steps"].strip(),
        subgraph=options["subgraph"],
        ranks=options["ranks"],
        gaps=options["gaps"],
        skip=dict(options["skip"]),
        delay_ms=options["delay_ms"],
    )


def open_replays(
    paths: Sequence[Path], replay: TraceTarget, names: Sequence[str]
) -> tuple[SourceFile, ...]:
    """Returns the traces, opened as replays. Raises `UsageError` for names of operators beside
    them, and what `open_replay` raises."""
    if names or not paths:
        told = f"{names[0]} is none" if names else "name one"
        raise UsageError(f"--replay is for traces; {told}")
    return tuple(SourceFile(path, open_replay(path, replay)) for path in paths)


def read_written_traces(
    options: Mapping[str, Any], replayed: Sequence[Path], output: Path
) -> WrittenTraces | None:
    """Returns the traces that are written, beside the output; None for none. Raises `OutputError`
    for one that cannot be, before hours of measuring, and `UsageError` for two of one name."""
    found = WrittenTraces(options["profile"], options["et"])
    written = [path for path in found if path is not None]
    if not written:
        return None
    inputs = [
        file for path in replayed for file in (folder_files(path) if path.is_dir() else [path])
    ]
    for path in written:
        if [*written, output].count(path) > 1:
            raise UsageError(f"{path} is named for two outputs; choose another name for one")
        check_output(path, options["overwrite"], inputs)
    return found


def write_traces(workers: Workers, run: Run, files: WrittenTraces) -> Iterator[str]:
    """Writes the traces of an iteration of each replay of a run, and yields a line on them."""
    cases = [record.case for record in run.records if record.status is Status.OK]
    chrome, execution = (str(path.resolve()) if path else "" for path in files)
    if not cases:
        yield "no traces: nothing was replayed"
        return
    first = cases[0]
    worker = workers.of(first.target.framework, first.settings)
    failed = worker.trace(tuple(cases), chrome, execution)
    for reason in dict.fromkeys(failed.values()):
        yield f"not traced: {reason}"
    yield f"traces written to {', '.join(str(path) for path in files if path)}"
