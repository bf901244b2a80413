"""The registry of metrics: every quantity that a record can have, declared once.

Another package adds a `Metric` through the entry-point group `opperf.metrics`. It then has a column
in tables, CSV and exports, and verdicts in comparisons.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import get_args

import msgspec

from opperf.errors import UsageError
from opperf.model import Case, Metric, MetricKind, Pass, Record

GROUP = "opperf.metrics"

PASSES: tuple[Pass, ...] = get_args(Pass)
"""Every pass; the metric of its time has the same name."""

FORWARD = Metric(
    "forward",
    "ns",
    MetricKind.WALL,
    title="Forward",
    description="time of the forward pass, as the profiler of the record measures it",
)

BACKWARD = Metric(
    "backward",
    "ns",
    MetricKind.WALL,
    title="Backward",
    description="time of the backward pass, as the profiler of the record measures it",
)

TOTAL = Metric(
    "total",
    "ns",
    MetricKind.WALL,
    title="Total",
    description="time of both passes together",
    usual=False,
)

MEMORY = Metric(
    "memory",
    "B",
    MetricKind.MEMORY,
    title="Memory",
    description="peak of memory above the level before the call",
    relative_tolerance=0.01,
    absolute_tolerance=4096.0,
)
"""Tolerances: allocators round to a page, and 1 % is less than any tensor more or less."""

MEMORY_FORWARD = Metric(
    "memory_forward",
    "B",
    MetricKind.MEMORY,
    title="Memory forward",
    description="peak of memory of the forward pass alone",
    usual=False,
    relative_tolerance=MEMORY.relative_tolerance,
    absolute_tolerance=MEMORY.absolute_tolerance,
)

MEMORY_RESERVED = Metric(
    "memory_reserved",
    "B",
    MetricKind.MEMORY,
    title="Memory reserved",
    description="peak of what the framework's allocator reserved on the device, above the level "
    "before the call",
    usual=False,
    relative_tolerance=MEMORY.relative_tolerance,
    absolute_tolerance=MEMORY.absolute_tolerance,
)

KERNEL = Metric(
    "kernel",
    "ns",
    MetricKind.KERNEL,
    title="Kernel",
    description="time of the forward pass, if the profiler measures kernels",
    usual=False,
)

INSTRUCTIONS = Metric(
    "instructions",
    "instructions",
    MetricKind.COUNT,
    title="Instructions",
    description="instructions of the forward pass",
    relative_tolerance=0.005,
    absolute_tolerance=50.0,
)
"""Tolerances: an address may change the steps of a search in a dictionary. Between two runs of 219
of PyTorch's operators in different orders, calls of up to 10,000 instructions differed by up to 26
of them, longer ones by less than 0.1 %, but for the backward pass of a GRU (0.3 %)."""

INSTRUCTIONS_BACKWARD = msgspec.structs.replace(
    INSTRUCTIONS,
    name="instructions_backward",
    title="Instructions backward",
    forward=INSTRUCTIONS.name,
    description="instructions of the backward pass",
)

INSTRUCTIONS_EMPTY = Metric(
    "instructions_empty",
    "instructions",
    MetricKind.COUNT,
    title="Instructions empty",
    description="instructions of an empty call, which the others are without",
    usual=False,
)


SIMULATED_SHARE, SIMULATED_EVENTS = 0.02, 100.0
"""Tolerances of simulated events: where a tensor lies decides which lines it evicts."""


def _simulated(name: str, description: str) -> tuple[Metric, Metric]:
    """Returns a metric of callgrind's simulation for each pass."""
    title = name.replace("_", " ").capitalize()
    forward = Metric(
        name,
        name.rpartition("_")[2],
        MetricKind.COUNT,
        title=title,
        description=f"{description} in the forward pass, simulated",
        relative_tolerance=SIMULATED_SHARE,
        absolute_tolerance=SIMULATED_EVENTS,
    )
    return forward, msgspec.structs.replace(
        forward,
        name=f"{name}_backward",
        title=f"{title} backward",
        forward=name,
        description=f"{description} in the backward pass, simulated",
    )


SIMULATED = (
    *_simulated("l1_misses", "accesses that miss the first-level caches"),
    *_simulated("last_level_misses", "accesses that miss the last-level cache"),
    *_simulated("branches", "conditional and indirect branches"),
    *_simulated("branch_misses", "branches that are mispredicted"),
)
"""Events that callgrind simulates, with --callgrind-cache."""

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

BUILT_IN = (
    FORWARD,
    BACKWARD,
    TOTAL,
    MEMORY,
    MEMORY_FORWARD,
    MEMORY_RESERVED,
    KERNEL,
    INSTRUCTIONS,
    INSTRUCTIONS_BACKWARD,
    INSTRUCTIONS_EMPTY,
    *SIMULATED,
    FIRST_CALL,
    LOWERING,
    COMPILATION,
    CACHE_MISSES,
    GRAPH_BREAKS,
    RECOMPILATIONS,
    FLOPS,
    BYTES_ACCESSED,
)
"""In the order of tables."""


@functools.cache
def metrics_by_name() -> dict[str, Metric]:
    """Returns every metric by its name: the built-in ones, then those of other packages, sorted.

    Raises `UsageError` for a metric of another package that cannot be loaded, or whose name is
    taken.
    """
    found = {metric.name: metric for metric in BUILT_IN}
    for entry in sorted(entry_points(group=GROUP)):
        place = f"the metric {entry.value}, an entry point of the group {GROUP},"
        try:
            metric = entry.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"{place} cannot be loaded ({error}); reinstall its package, or remove it"
            ) from error
        if not isinstance(metric, Metric):
            raise UsageError(f"{place} is not a Metric; fix its package, or remove it")
        if metric.name in found:
            raise UsageError(
                f"{place} has the name {metric.name!r}, which another metric has; rename one"
            )
        found[metric.name] = metric
    return found


def metric_named(name: str, unit: str) -> Metric:
    """Returns the metric of that name; if no installed package declares it, one with that name and
    unit."""
    return metrics_by_name().get(name) or Metric(name, unit, MetricKind.DERIVED, title=name)


def expected_metrics(case: Case) -> tuple[str, ...]:
    """Returns the names of the metrics that a record of the case has, or a note that says why
    not."""
    if case.settings.counts_instructions:
        found = {FORWARD.name: INSTRUCTIONS.name, BACKWARD.name: INSTRUCTIONS_BACKWARD.name}
        return tuple(found[name] for name in case.passes)
    return (*case.passes, *([MEMORY.name] if case.settings.memory else []))


def metrics_in(records: Iterable[Record]) -> tuple[Metric, ...]:
    """Returns every metric of the records, sorted."""
    units = {name: one.unit for record in records for name, one in record.summaries.items()}
    return sort_metrics(metric_named(name, unit) for name, unit in units.items())


def sort_metrics(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Sorts metrics: the registered ones in their order, then the others by name."""
    positions = {name: index for index, name in enumerate(metrics_by_name())}
    return tuple(
        sorted(
            metrics, key=lambda metric: (positions.get(metric.name, len(positions)), metric.name)
        )
    )


def default_metrics() -> tuple[Metric, ...]:
    """Returns the registered metrics that are compared by default."""
    return tuple(metric for metric in metrics_by_name().values() if metric.usual)


def exported_metrics() -> tuple[Metric, ...]:
    """Returns the registered metrics that exports have even where no record has them: the usual
    ones but counts, which are asked for."""
    return tuple(metric for metric in default_metrics() if metric.kind is not MetricKind.COUNT)
