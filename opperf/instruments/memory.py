"""The instrument of memory: the peaks of what a case allocates."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from opperf.errors import UnsupportedError
from opperf.instruments.instrument import Instrument, Needs
from opperf.model import Case, Metric, MetricKind, NoteCode, Settings

if TYPE_CHECKING:
    from opperf.instruments.visit import Conditions, Visit

MEMORY = Metric(
    "memory",
    "B",
    MetricKind.MEMORY,
    description="peak of memory above the level before the call",
    relative_tolerance=0.01,
    absolute_tolerance=4096.0,
)
"""Tolerances: allocators round to a page, and 1 % is less than any tensor more or less."""

MEMORY_FORWARD = msgspec.structs.replace(
    MEMORY,
    name="memory_forward",
    title="",
    description="peak of memory of the forward pass alone",
    usual=False,
)

MEMORY_RESERVED = msgspec.structs.replace(
    MEMORY,
    name="memory_reserved",
    title="",
    description="peak of what the framework's allocator reserved on the device, above the level "
    "before the call",
    usual=False,
)

EARLY_BYTES = 64 * 2**20
"""Maximum bytes of a case whose memory another process measures while its tensors are made and
first used here. The tensors and outputs of a larger one would be in memory twice, which the guard
does not count, and its calls take longer than the time that is saved."""


class Memory(Instrument):
    """Measures peaks of memory beside the times."""

    name = "memory"
    metrics = (MEMORY, MEMORY_FORWARD, MEMORY_RESERVED)
    needs = Needs(pristine_fork=True)

    def measures(self, settings: Settings) -> bool:
        return settings.memory

    def expected(self, case: Case) -> tuple[str, ...]:
        return (MEMORY.name,)

    def begin(self, case: Case, framework: Any, conditions: Conditions, needed_bytes: int) -> None:
        if needed_bytes <= EARLY_BYTES:
            conditions.meter.begin(case, framework)

    def measure(self, visit: Visit) -> None:
        visit.inspect()
        begun = time.perf_counter()
        visit.restore()
        try:
            found = visit.conditions.meter.peaks(visit.prepared)
        except UnsupportedError as error:
            visit.note(MEMORY.name, NoteCode.NO_MEMORY, str(error))
            return
        both = found.forward if found.both is None else found.both
        peaks = {MEMORY: both, MEMORY_FORWARD: found.forward, MEMORY_RESERVED: found.reserved}
        for metric, peak in peaks.items():
            if peak is not None:
                visit.keep_value(metric, float(peak))
        # Work of another process took time of this one only while this one waited for it.
        visit.busy_s += min(found.busy_s, time.perf_counter() - begun)
        visit.notes += found.notes
        visit.compiled_s = {"forward": found.forward_s, "backward": found.gradient_s}


MEMORY_PEAKS = Memory()
