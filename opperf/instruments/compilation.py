"""The instrument of compilation: what the first call and the compiler take, and what they made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opperf.instruments.instrument import Instrument
from opperf.model import DEFAULTS, SEQUENCES, Metric, MetricKind, NoteCode

NS_PER_S = 1e9

if TYPE_CHECKING:
    from opperf.frameworks.base import Gradient
    from opperf.instruments.visit import Visit

DESCRIPTIONS = {
    "first_call": ("ns", "time of the first call, compilation included"),
    "lowering": ("ns", "time of tracing and lowering the case's programs for the compiler"),
    "compilation": (
        "ns",
        "time of compiling the case's programs, or of reading them from the cache",
    ),
    "compile_cache_misses": (
        "count",
        "programs of the case that were compiled, as no cache had them",
    ),
    "graph_breaks": ("count", "places where compiled code returns to the interpreter"),
    "recompilations": ("count", "times that code was compiled again"),
    "bytes_accessed": (
        "B",
        "bytes that the forward pass reads and writes, by the compiler's count",
    ),
}

TITLES = {"compile_cache_misses": "Compile-cache misses"}
"""Titles that are not the name in words."""

METRICS = tuple(
    Metric(
        name,
        unit,
        MetricKind.WALL if unit == "ns" else MetricKind.COUNT,
        title=TITLES.get(name, ""),
        description=description,
        usual=False,
    )
    for name, (unit, description) in DESCRIPTIONS.items()
)

FIRST_CALL = METRICS[0]

COMPILATION, CACHE_MISSES = "compilation", "compile_cache_misses"

AHEAD = (
    "compiled ahead of the run beside other cases, which takes longer than alone; "
    "--no-compile-ahead compiles each case when it is measured"
)


class Compilation(Instrument):
    """Keeps what compiling a case took, where its first call compiles."""

    name = "compilation"
    metrics = METRICS

    def measure(self, visit: Visit) -> None:
        if not visit.compiles:
            return
        declared = {metric.name: metric for metric in self.metrics}
        call, ahead = visit.prepared.call, visit.conditions.ahead
        first_ns = visit.first_s * NS_PER_S
        found = dict(visit.framework.modes.compilation(call))
        if ahead is not None and ahead.cache_misses:
            # What this process took is the time of reading the cache.
            first_ns += ahead.first_ns - visit.framework.modes.first_compile_ns(call)
            found |= {COMPILATION: ahead.compile_ns, CACHE_MISSES: ahead.cache_misses}
            for name in (FIRST_CALL.name, COMPILATION):
                visit.note(name, NoteCode.AHEAD, AHEAD)
        visit.keep_value(FIRST_CALL, first_ns)
        for name, count in found.items():
            visit.keep_value(declared[name], float(count))
        flops = visit.framework.profilers.compiled_flops(call)
        if flops is not None:
            visit.flops["forward"] = "count", flops


COMPILER = Compilation()


def note_removed_work(visit: Visit) -> None:
    """Adds notes to the passes of a user's code that a compiler has removed most of. How an
    operator of the framework's own does its work is the framework's matter, and what is no function
    has no results that work could reach."""
    prepared, case = visit.prepared, visit.case
    if case.settings.mode == DEFAULTS["mode"] or isinstance(case.target, SEQUENCES):
        return
    if visit.framework.naming.is_own(case.target):
        return
    visit.restore()

    def made() -> Gradient:
        # That of the timed calls, as making one runs both passes.
        return prepared.gradient or prepared.make_gradient()

    gradient = made if "backward" in visit.summaries else None
    visit.notes += visit.framework.modes.removed_work(case, prepared.call, gradient)
    visit.restore()
