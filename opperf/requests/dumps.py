"""The fields of requests for what is written of each case beside the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from opperf.errors import UsageError
from opperf.execution.dumps import (
    COUNTERS,
    DUMPS,
    HLO,
    INSIDES,
    IR,
    RESULTS,
    STABLEHLO,
    TRACE,
    XLA_METRICS,
)
from opperf.model.declaring import number_between
from opperf.requests.declaring import INSIDES as SECTION
from opperf.requests.declaring import OUTPUT, Group, Option, flag_option
from opperf.requests.xla_runner import Values

TEXT = "text"

AS_PROFILES = "As --dump-pytorch-profiles."


class Dumps(Group, frozen=True, kw_only=True):
    """Traces, code and arrays of each case, which are written beside the records."""

    insides: Annotated[
        bool,
        flag_option(
            "--profile",
            "Write a trace of each case, and the graphs, code and HLO that compilers make of it, "
            "in a folder beside the output, by another call in a process of its own.",
        ),
    ] = False
    dump_pytorch_profiles: Annotated[
        bool, flag_option("--dump-pytorch-profiles", "Write the traces alone.")
    ] = False
    profile_xla: Annotated[bool, flag_option("--profile-xla", AS_PROFILES)] = False
    profile_cuda_cpu: Annotated[bool, flag_option("--profile-cuda-cpu", AS_PROFILES)] = False
    profile_cuda_cpu_individual_ops: Annotated[
        bool, flag_option("--profile-cuda-cpu-individual-ops", AS_PROFILES)
    ] = False
    profile_xla_duration_ms: Annotated[
        float | None,
        Option(
            "--profile-xla-duration-ms",
            "Repeat the calls of a trace for this long.  [default: one call]",
            number_between(0),
            metavar="MS",
            section=SECTION,
        ),
    ] = None
    dump_dynamo_counters: Annotated[
        bool,
        flag_option("--dump-dynamo-counters", "Write torch.compile's counters alone, as JSON."),
    ] = False
    dump_pytorch_xla_metrics: Annotated[
        bool,
        flag_option(
            "--dump-pytorch-xla-metrics",
            "Write PyTorch/XLA's metrics alone; needs torch_xla.",
        ),
    ] = False
    save_output: Annotated[
        bool,
        flag_option(
            "--save-output",
            "Write the arrays that each case computes, of training its loss, gradients and updated "
            "parameters, too, as .npy files in a folder beside the output; of more than 128 MiB "
            "every second, third ... element.",
            OUTPUT,
        ),
    ] = False
    dump_hlo: Annotated[bool, flag_option("--dump-hlo", "Write the HLO alone.")] = False
    save_ir_format: Annotated[
        Literal["text", "hlo", "stablehlo"] | None,
        Option(
            "--save-ir-format",
            "Write the graphs alone, as text; of what XLA compiles (JAX, PyTorch/XLA) as its HLO, "
            "or as StableHLO.",
            section=SECTION,
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
        form = self.save_ir_format
        asked = {
            TRACE: self._traces,
            IR: form == TEXT,
            HLO: self.dump_hlo or form == HLO,
            STABLEHLO: form == STABLEHLO,
            COUNTERS: self.dump_dynamo_counters,
            XLA_METRICS: self.dump_pytorch_xla_metrics,
            RESULTS: self.save_output,
        }
        return tuple(name for name in DUMPS if asked[name] or (self.insides and name in INSIDES))

    def check(self, modes: Iterable[str | None], words: Mapping[str, Values], jax: bool) -> None:
        """Raises `UsageError` for a dump that nothing of these modes has. `jax` is whether JAX is
        among the frameworks."""
        named = [*modes, *words.get("dynamo", ())]
        by_torch_xla = any(words.get("xla", ())) or any(mode and "xla" in mode for mode in named)
        form = self.save_ir_format
        if self.dump_pytorch_xla_metrics and not by_torch_xla:
            raise UsageError("--dump-pytorch-xla-metrics needs torch_xla: add --mode xla")
        if form in (HLO, STABLEHLO) and not (by_torch_xla or jax):
            raise UsageError(
                f"--save-ir-format {form} needs torch_xla: add --mode xla, or use --framework jax"
            )
        if self.profile_xla_duration_ms and not (self._traces or self.insides):
            raise UsageError("--profile-xla-duration-ms has no effect without --profile-xla")


MS_PER_S = 1e3
