"""The fields of requests for replays of traces, and for what is written beside a run: traces,
and dumps of compilers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from opperf.errors import UsageError
from opperf.model import TraceTarget
from opperf.model.declaring import number_between, number_from
from opperf.requests.declaring import Group, Option, declared
from opperf.requests.parsers import Words
from opperf.results.output import check_output
from opperf.sources.base import SourceFile

if TYPE_CHECKING:
    from opperf.requests.xla_runner import Values

AS_PROFILES = "As --dump-pytorch-profiles."


class Dumps(Group, frozen=True, kw_only=True):
    """Traces, code and arrays of each case, which are written beside the records."""

    section: ClassVar[str] = "Insides"

    insides: Annotated[
        bool,
        Option(
            "Write a trace of each case, and the graphs, code and HLO that compilers make of it, "
            "in a folder beside the output, by another call in a process of its own.",
            spellings="--profile",
        ),
    ] = False
    dump_pytorch_profiles: Annotated[bool, Option("Write the traces alone.")] = False
    profile_xla: Annotated[bool, Option(AS_PROFILES)] = False
    profile_cuda_cpu: Annotated[bool, Option(AS_PROFILES)] = False
    profile_cuda_cpu_individual_ops: Annotated[bool, Option(AS_PROFILES)] = False
    profile_xla_duration_ms: Annotated[
        float | None,
        Option(
            "Repeat the calls of a trace for this long.  [default: one call]",
            number_between(0),
            metavar="MS",
        ),
    ] = None
    dump_dynamo_counters: Annotated[
        bool, Option("Write torch.compile's counters alone, as JSON.")
    ] = False
    dump_pytorch_xla_metrics: Annotated[
        bool, Option("Write PyTorch/XLA's metrics alone; needs torch_xla.")
    ] = False
    save_output: Annotated[
        bool,
        Option(
            "Write the arrays that each case computes, of training its loss, gradients and updated "
            "parameters, too, as .npy files in a folder beside the output; of more than 128 MiB "
            "every second, third ... element.",
            section="Output",
        ),
    ] = False
    dump_hlo: Annotated[bool, Option("Write the HLO alone.")] = False
    save_ir_format: Annotated[
        Literal["text", "hlo", "stablehlo"] | None,
        Option(
            "Write the graphs alone, as text; of what XLA compiles (JAX, PyTorch/XLA) as its HLO, "
            "or as StableHLO."
        ),
    ] = None

    @property
    def _traces(self) -> bool:
        profiles = self.profile_cuda_cpu or self.profile_cuda_cpu_individual_ops
        return self.dump_pytorch_profiles or self.profile_xla or profiles

    @property
    def traced_s(self) -> float:
        """Seconds that the calls of a trace take at least."""
        return (self.profile_xla_duration_ms or 0.0) / MS_PER_S

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what is written."""
        from opperf.execution import dumps

        form = self.save_ir_format
        asked = {
            dumps.TRACE: self._traces,
            dumps.IR: form == "text",
            dumps.HLO: self.dump_hlo or form == "hlo",
            dumps.STABLEHLO: form == "stablehlo",
            dumps.COUNTERS: self.dump_dynamo_counters,
            dumps.XLA_METRICS: self.dump_pytorch_xla_metrics,
            dumps.RESULTS: self.save_output,
        }
        insides = dumps.INSIDES if self.insides else ()
        return tuple(name for name in dumps.DUMPS if asked[name] or name in insides)

    def check(self, modes: Iterable[str | None], words: Mapping[str, Values], jax: bool) -> None:
        """Raises `UsageError` for a dump that nothing of these modes has. `jax` is whether JAX is
        among the frameworks."""
        named = [*modes, *words.get("dynamo", ())]
        by_torch_xla = any(words.get("xla", ())) or any(mode and "xla" in mode for mode in named)
        form = self.save_ir_format
        if self.dump_pytorch_xla_metrics and not by_torch_xla:
            raise UsageError("--dump-pytorch-xla-metrics needs torch_xla: add --mode xla")
        if form in ("hlo", "stablehlo") and not (by_torch_xla or jax):
            raise UsageError(
                f"--save-ir-format {form} needs torch_xla: add --mode xla, or use --framework jax"
            )
        if self.profile_xla_duration_ms and not (self._traces or self.insides):
            raise UsageError("--profile-xla-duration-ms has no effect without --profile-xla")


MS_PER_S = 1e3


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


class Replay(Group, frozen=True, kw_only=True):
    """The replay of traces; each but `replay` needs it."""

    section: ClassVar[str] = "Replay"

    replay: Annotated[
        bool,
        Option(
            "Replay the calls of traces in their order, with their data flow: an iteration is a "
            "call."
        ),
    ] = False
    steps: Annotated[
        str,
        Option(
            "Replay the step of this number, by its label in the trace, or those before B.",
            metavar="A[:B]",
        ),
    ] = ""
    subgraph: Annotated[str, Option("Replay the calls below this label.", metavar="LABEL")] = ""
    gaps: Annotated[Literal["none", "recorded"], Option("Pauses between replayed calls.")] = "none"
    ranks: Annotated[
        int,
        Option(
            "Replay with a process for each of N ranks, or of all ranks of a folder, whose "
            "collective operations gloo makes. Without it, these are waits.",
            read_ranks,
            metavar="N|all",
        ),
    ] = 1
    skip: Annotated[
        dict[str, str],
        Option(
            "Leave out the replay's calls of this operator, or of all that a pattern names.",
            gather=parse_skipped,
            metavar="NAME[=REASON]",
        ),
    ] = {}
    delay_ms: Annotated[
        float,
        Option(
            "Milliseconds of pause before each iteration of a replay.",
            number_from(0),
            metavar="MS",
            spellings="--delay",
        ),
    ] = 0.0
    et: Annotated[
        Path | None, Option("Write PyTorch's execution trace of an iteration of the replay.")
    ] = None
    profile: Annotated[
        Path | None, Option("Write the profiler's Chrome trace of an iteration of the replay.")
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
