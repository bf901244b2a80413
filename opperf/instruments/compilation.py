"""The instrument of compilation: what the first call and the compiler take, and what they made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opperf.instruments.instrument import Instrument
from opperf.model import INSTRUCTIONS, Metric, MetricKind, NoteCode, Settings

NS_PER_S = 1e9

if TYPE_CHECKING:
    from opperf.instruments.prepared import Visit

FIRST_CALL = Metric(
    "first_call",
    "ns",
    MetricKind.WALL,
    title="First call",
    description="time of the first call, compilation included",
    usual=False,
)

LOWERING = Metric(
    "lowering",
    "ns",
    MetricKind.WALL,
    title="Lowering",
    description="time of tracing and lowering the case's programs for the compiler",
    usual=False,
)

COMPILATION = Metric(
    "compilation",
    "ns",
    MetricKind.WALL,
    title="Compilation",
    description="time of compiling the case's programs, or of reading them from the cache",
    usual=False,
)

FLOPS = Metric(
    "flops",
    "count",
    MetricKind.COUNT,
    title="Flops",
    description="floating-point operations of the forward pass, by the compiler's count",
    usual=False,
)

BYTES_ACCESSED = Metric(
    "bytes_accessed",
    "B",
    MetricKind.COUNT,
    title="Bytes accessed",
    description="bytes that the forward pass reads and writes, by the compiler's count",
    usual=False,
)

CACHE_MISSES = Metric(
    "compile_cache_misses",
    "count",
    MetricKind.COUNT,
    title="Compile-cache misses",
    description="programs of the case that were compiled, as no cache had them",
    usual=False,
)

GRAPH_BREAKS = Metric(
    "graph_breaks",
    "count",
    MetricKind.COUNT,
    title="Graph breaks",
    description="places where compiled code returns to the interpreter",
    usual=False,
)

RECOMPILATIONS = Metric(
    "recompilations",
    "count",
    MetricKind.COUNT,
    title="Recompilations",
    description="times that code was compiled again",
    usual=False,
)

IS_CONSTANT = (
    "the compiler computed the results, which depend on no input, and a call only returns them; "
    "pass as an argument what they are computed from"
)


class Compilation(Instrument):
    """Keeps what compiling a case took, where its first call compiles."""

    name = "compilation"
    metrics = (
        FIRST_CALL,
        LOWERING,
        COMPILATION,
        CACHE_MISSES,
        GRAPH_BREAKS,
        RECOMPILATIONS,
        FLOPS,
        BYTES_ACCESSED,
    )

    def measures(self, settings: Settings) -> bool:
        return settings.profiler != INSTRUCTIONS

    def measure(self, visit: Visit) -> None:
        if not visit.compiles:
            return
        visit.keep_value(FIRST_CALL, visit.first_s * NS_PER_S)
        declared = {metric.name: metric for metric in self.metrics}
        call = visit.prepared.call
        for name, count in visit.framework.compilation(call).items():
            visit.keep_value(declared[name], float(count))
        if visit.framework.is_constant(visit.case.target, call):
            visit.note("", NoteCode.CONSTANT, IS_CONSTANT)


COMPILER = Compilation()
