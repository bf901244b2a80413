"""The events of PyTorch's own profiler, kineto, by its low-level interface.

`torch.profiler` builds a Python object of each event, in some tens of microseconds. Here the events
are read as they are, in one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch.profiler import ProfilerActivity

from opperf.frameworks.recording import Interval
from opperf.frameworks.torch import private

# Read when the first recording begins. Kineto's messages, one at each begin and end of a recording,
# have levels up to 5.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

MARKER = "opperf::call"
"""Name of the markers."""

ON_HOST = "cpu_op"
"""Kineto's type of operators, of nodes of the backward pass, and of markers."""

ON_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
"""Kineto's types of work on a device: a copy or a fill is the operator's work as much as a kernel.
Markers and annotations have copies on the device, of another type."""

DISPATCH = (
    "TorchDynamo Cache Lookup",
    "Torch-Compiled Region",
    "Pregraph bytecode",
    "AOTDispatcher Runtime Wrapper Prologue",
)
"""First words of events of `torch.compile` that are or contain Python code around the compiled
graph, which has an event of its own."""


class Trace(NamedTuple):
    """The events of a recording, each list sorted."""

    calls: list[Interval]
    """The markers."""
    host: list[Interval]
    """Operators and nodes of the backward pass, those inside others included."""
    device: list[Interval]
    """Work on the device."""


@contextmanager
def record(activities: set[ProfilerActivity], *, memory: bool = False) -> Iterator[list[Any]]:
    """Records the events inside the context. The list has kineto's result after its end. Raises
    `UnsupportedError` if this version of PyTorch cannot."""
    config = private.PROFILER_CONFIG.get()(
        private.PROFILER_STATE.get().KINETO,
        False,  # shapes
        memory,
        False,  # stacks
        False,  # flops
        False,  # modules
        private.EXPERIMENTAL_CONFIG.get()(),
    )
    results: list[Any] = []
    enable, disable = private.ENABLE_PROFILER.get(), private.DISABLE_PROFILER.get()
    private.PREPARE_PROFILER.get()(config, activities)
    with private.compiled_events():
        enable(config, activities)
        try:
            yield results
        finally:
            results.append(disable())


def read_trace(events: Sequence[Any]) -> Trace:
    """Sorts kineto's events by what they are."""
    trace = Trace([], [], [])
    kind_of = private.kind_of_events()
    for event in events:
        kind = kind_of(event)
        if kind == ON_HOST:
            name = event.name()
            if name == MARKER:
                trace.calls.append((event.start_ns(), event.end_ns()))
            elif not name.startswith(DISPATCH):
                trace.host.append((event.start_ns(), event.end_ns()))
        elif kind in ON_DEVICE:
            trace.device.append((event.start_ns(), event.end_ns()))
    for intervals in trace:
        intervals.sort()
    return trace
