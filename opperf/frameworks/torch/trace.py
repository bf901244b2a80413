"""The events of PyTorch's own profiler, kineto, by its low-level interface.

`torch.profiler` builds a Python object of each event, in some tens of microseconds. Here the events
are read as they are, in one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity

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


Label = Callable[[str], AbstractContextManager[object]]
"""Returns a context that names its work in the traces."""


@contextmanager
def tracing(chrome: Path | None, execution: Path | None) -> Iterator[Label]:
    """Traces the work inside, and writes the traces to these files, those without a path not."""
    with ExitStack() as stack:
        if execution is not None:
            stack.enter_context(_execution_trace(execution))
        profiler = stack.enter_context(torch.profiler.profile()) if chrome is not None else None
        yield torch.profiler.record_function
    if profiler is not None:
        profiler.export_chrome_trace(str(chrome))


@contextmanager
def _execution_trace(path: Path) -> Iterator[None]:
    observer = ExecutionTraceObserver()
    observer.register_callback(str(path))
    observer.start()
    try:
        yield
    finally:
        observer.stop()
        observer.unregister_callback()
