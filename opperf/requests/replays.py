"""The fields of requests for replays of traces."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from opperf.errors import UsageError
from opperf.model import TraceTarget
from opperf.model.declaring import number_from
from opperf.requests.declaring import REPLAY, Group, Option, declared
from opperf.requests.parsers import Words
from opperf.results.output import check_output
from opperf.sources.base import SourceFile

MOST_RANKS = 256
"""Most ranks: each is a process of this machine that imports the framework."""


def read_ranks(text: str) -> int:
    """Returns a number of ranks; `ALL_RANKS` of `all`."""
    from opperf.sources.replays import ALL_RANKS

    if text.strip().lower() == "all":
        return ALL_RANKS
    if not text.strip().isdecimal() or not 1 <= int(text) <= MOST_RANKS:
        raise ValueError(f"{text!r} is neither `all` nor from 1 to {MOST_RANKS}")
    return int(text)


def parse_skipped(values: Words) -> dict[str, str]:
    """Parses `aten::copy_=a copy` into a pattern and a reason, which may be empty."""
    found = {}
    for value in values:
        name, _, reason = value.partition("=")
        if not name:
            raise ValueError(f"{value!r} names no operator")
        found[name] = reason
    return found


def _written(spelling: str, help: str) -> Option:
    return Option(spelling, help, Path, metavar="FILE", section=REPLAY)


class Replay(Group, frozen=True, kw_only=True):
    """The replay of traces; each but `replay` needs it."""

    replay: Annotated[
        bool,
        Option(
            "--replay",
            "Replay the calls of traces in their order, with their data flow: an iteration is a "
            "call.",
            section=REPLAY,
        ),
    ] = False
    steps: Annotated[
        str,
        Option(
            "--steps",
            "Replay the step of this number, by its label in the trace, or those before B.",
            metavar="A[:B]",
            section=REPLAY,
        ),
    ] = ""
    subgraph: Annotated[
        str,
        Option("--subgraph", "Replay the calls below this label.", metavar="LABEL", section=REPLAY),
    ] = ""
    gaps: Annotated[
        Literal["none", "recorded"],
        Option("--gaps", "Pauses between replayed calls.", section=REPLAY),
    ] = "none"
    ranks: Annotated[
        int,
        Option(
            "--ranks",
            "Replay with a process for each of N ranks, or of all ranks of a folder, whose "
            "collective operations gloo makes. Without it, these are waits.",
            read_ranks,
            metavar="N|all",
            section=REPLAY,
        ),
    ] = 1
    skip: Annotated[
        dict[str, str],
        Option(
            "--skip",
            "Leave out the replay's calls of this operator, or of all that a pattern names.",
            gather=parse_skipped,
            metavar="NAME[=REASON]",
            section=REPLAY,
        ),
    ] = {}
    delay_ms: Annotated[
        float,
        Option(
            "--delay",
            "Milliseconds of pause before each iteration of a replay.",
            number_from(0),
            metavar="MS",
            section=REPLAY,
        ),
    ] = 0.0
    et: Annotated[
        Path | None,
        _written("--et", "Write PyTorch's execution trace of an iteration of the replay."),
    ] = None
    profile: Annotated[
        Path | None,
        _written("--profile", "Write the profiler's Chrome trace of an iteration of the replay."),
    ] = None

    def target(self, given: Collection[str]) -> TraceTarget | None:
        """Returns the replay, as a target without its trace; None if none is wanted. Raises
        `UsageError` for a field that needs `--replay`, and for steps that are no range."""
        from opperf.traces.parts import read_steps
        from opperf.traces.trace import FRAMEWORK

        if not self.replay:
            for name, field in declared(Replay).items():
                if name in given:
                    raise UsageError(f"{field.shown} needs --replay")
            return None
        if self.steps:
            read_steps(self.steps)
        return TraceTarget(
            FRAMEWORK,
            file="",
            digest="",
            steps=self.steps.strip(),
            subgraph=self.subgraph,
            ranks=self.ranks,
            gaps=self.gaps,
            skip=dict(self.skip),
            delay_ms=self.delay_ms,
        )

    def written(
        self, replayed: Sequence[Path], output: Path, overwrite: bool
    ) -> WrittenTraces | None:
        """Returns the traces that are written, beside the output; None for none. Raises
        `OutputError` for one that cannot be, before hours of measuring, and `UsageError` for two of
        one name."""
        from opperf.traces.archives import folder_files

        found = WrittenTraces(self.profile, self.et)
        written = [path for path in found if path is not None]
        if not written:
            return None
        inputs = [
            file for path in replayed for file in (folder_files(path) if path.is_dir() else [path])
        ]
        for path in written:
            if [*written, output].count(path) > 1:
                raise UsageError(f"{path} is named for two outputs; choose another name for one")
            check_output(path, overwrite, inputs)
        return found


class WrittenTraces(NamedTuple):
    """Traces that are written of a replay's iteration; None for one that is not wanted."""

    chrome: Path | None
    execution: Path | None


def open_replays(
    paths: Sequence[Path], replay: TraceTarget, names: Sequence[str]
) -> tuple[SourceFile, ...]:
    """Returns the traces, opened as replays. Raises `UsageError` for names of operators beside
    them, and what `open_replay` raises."""
    from opperf.sources.replays import open_replay

    if names or not paths:
        told = f"{names[0]} is none" if names else "name one"
        raise UsageError(f"--replay is for traces; {told}")
    return tuple(SourceFile(path, open_replay(path, replay)) for path in paths)
