"""Quantities that are measured, and remarks beside their figures."""

from __future__ import annotations

import enum

from opperf.model.base import Struct


class MetricKind(str, enum.Enum):
    """Kind of a metric, which decides how its figures are compared."""

    KERNEL = "kernel"
    """Time that kernels run, as the framework's own profiler has it."""
    WALL = "wall"
    """Time on the wall clock."""
    MEMORY = "memory"
    """Bytes allocated: the same on every run."""
    COUNT = "count"
    """Events counted: the same on every run, but for a tolerance."""
    DERIVED = "derived"
    """Computed from other metrics, and scattered as they are."""


class Metric(Struct, frozen=True):
    """A quantity that is measured: all that printers, joins, exports and verdicts ask about it."""

    name: str
    """Its key in `Record.summaries`."""
    unit: str
    """Of its samples and summaries: `ns`, `B`, or a unit that is shown as it is."""
    kind: MetricKind
    title: str
    """Its name in the headers of tables."""
    description: str = ""
    lower_is_better: bool = True
    usual: bool = True
    """Whether tables, exports and comparisons have it where no metric is named. The others are
    parts, sums or other readings of those."""
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    """Largest difference at which two figures count as equal, for a kind that is the same on every
    run: a share of the first, or an amount in the unit, whichever is larger."""

    @property
    def is_time(self) -> bool:
        """Whether it is a time, by whatever clock."""
        return self.kind in (MetricKind.KERNEL, MetricKind.WALL)

    @property
    def is_steady(self) -> bool:
        """Whether it is the same on every run, so that one figure is all there is to know."""
        return self.kind in (MetricKind.MEMORY, MetricKind.COUNT)


class NoteCode(str, enum.Enum):
    """Subject of a note."""

    NOISY = "noisy"
    """The samples drift, have two levels, or leave the median less certain than was asked."""
    DISPATCH = "dispatch"
    """Kernels are less than half of what a call takes."""
    NAN = "nan"
    """An output has a NaN."""
    NO_GRADIENT = "no_gradient"
    """The operator has no gradient for these inputs, so that there is no figure."""
    NO_KERNEL = "no_kernel"
    """The pass runs no kernel, so that there is no figure."""
    NO_MEMORY = "no_memory"
    """The framework does not say what it allocates, so that there is no figure."""
    NOT_PRISTINE = "not_pristine"
    """Peaks of memory are from a process that had run operators before."""
    COLD_CACHE = "cold_cache"
    """How calls were kept from finding their inputs in a cache."""
    BATCHED = "batched"
    """Calls are timed several at a time, between two waits for the device."""
    ROUND_FAILED = "round_failed"
    """A later visit of the case gave no samples."""
    FALLBACK = "fallback"
    """The function runs on another library than the framework's own kernels."""


WITHOUT_FIGURE = (NoteCode.NO_GRADIENT, NoteCode.NO_KERNEL, NoteCode.NO_MEMORY)
"""Codes that say why a metric that was asked for has no figure."""


class Note(Struct, frozen=True):
    """A remark that belongs beside a figure."""

    metric: str
    """Name of the metric; empty for the whole case."""
    code: str
    """One of `NoteCode`, or a code of a later version: programs go by it."""
    message: str
    """For people; its wording may change."""
