"""Kernel time by PyTorch's own profiler, kineto, by its low-level interface: `torch.profiler` makes
a Python object of each event, in some tens of microseconds. A call's events are those that begin
within its marker, an event of the profiler's own clock. On a CPU the backward pass runs in the
thread that called it, as an event for each node of the graph; threads of OpenMP record none."""

from __future__ import annotations

import functools
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple

import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, supported_activities

from opperf.errors import ProfilerError, UnsupportedError
from opperf.frameworks.recording import (
    EventCost,
    Interval,
    RecordingProfiler,
    Taken,
    Union,
    of_each,
    unions_in,
    warm_up,
)
from opperf.frameworks.torch import private
from opperf.frameworks.torch.devices import synchronize, torch_device

CHAIN = 32
"""Steps of the operator that measures the cost of an event, two for each of next to no work."""

CALIBRATING = 200
"""Pairs of calls of that operator whose median difference is the cost: 50 ms, once in a process."""


@functools.cache
def event_ns() -> float:
    """Returns the nanoseconds that recording an event takes: the median difference between calls
    whose events are recorded or not, for each event. Measured once in a process."""
    unbind = torch.zeros(CHAIN).unbind
    differences = []
    with record({ProfilerActivity.CPU}) as results:
        for _ in range(CALIBRATING):
            recorded = _elapsed_ns(unbind)
            with not_recorded():
                differences.append(recorded - _elapsed_ns(unbind))
    events = len(read_trace(results[0].events()).host)
    if not events:
        raise ProfilerError(EMPTY)
    return max(0.0, statistics.median(differences) * CALIBRATING / events)


@contextmanager
def not_recorded() -> Iterator[None]:
    """Within it, the calls of this thread have no events."""
    enable = private.ENABLE_RECORDING.get()
    enable(False)
    try:
        yield
    finally:
        enable(True)


def _elapsed_ns(call: Callable[[], object]) -> int:
    begin = perf_counter_ns()
    call()
    return perf_counter_ns() - begin


EMPTY = (
    "PyTorch's profiler did not record the calls; another profiler may be running in this process, "
    "or this build may lack kineto: use --profiler python"
)

NO_DEVICE_EVENTS = (
    "PyTorch's profiler recorded no work on {}: CUPTI may be missing, in use by another tool, or "
    "not permitted to this user; use --profiler events"
)

DEVICE_ACTIVITIES = {
    "cpu": ProfilerActivity.CPU,
    "cuda": ProfilerActivity.CUDA,
    "xpu": ProfilerActivity.XPU,
}
"""The activity that kineto has to record, by PyTorch's type of device."""


class NativeProfiler(RecordingProfiler):
    """Kernel time: on a CPU that of operators and of the backward pass's nodes, less the cost of
    recording them; on other devices that of kernels, copies and fills."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = torch_device(device)
        self._synchronize = functools.partial(synchronize, device)
        activity = DEVICE_ACTIVITIES.get(self._device.type)
        if activity is None or activity not in supported_activities():
            raise UnsupportedError(
                f"PyTorch's profiler records no work on {device} with this build; use --profiler "
                "python"
            )
        self._on_host = self._device.type == "cpu"
        self._activities = {ProfilerActivity.CPU, activity}
        self._costs: list[EventCost] = []
        self._in_turns = False
        """Whether calls that are not recorded follow those that are, and show what that costs."""

    def _begin(self) -> None:
        self._costs = [EventCost(event_ns()) for _ in self._phases]
        self._in_turns = False

    def _record(self, calls: int, taken: Sequence[Taken]) -> int:
        """Adds some calls of each phase to those taken, and returns their number: none where
        recording them turns out to take a large part of their time."""
        walls: list[int] = []
        plain: list[int] = []
        with record(self._activities) as results:
            if not self._on_host:
                # Work that must be in the trace.
                torch.zeros(1, device=self._device)
            self._synchronize()
            self._run(calls, walls, plain if self._in_turns else None)
        events = results[0].events()
        trace = read_trace(events)
        self._limit(calls, len(events))
        if len(trace.calls) != len(walls):
            raise ProfilerError(EMPTY)
        host = unions_in(trace.calls, trace.host)
        if self._on_host:
            phases = of_each(len(taken))
            if self._in_turns:
                for cost, own in zip(self._costs, phases, strict=True):
                    cost.add(walls[own], plain[own], host[own])
            elif any(c.is_large(host[own]) for c, own in zip(self._costs, phases, strict=True)):
                self._in_turns = True
                return 0
            device: Sequence[Union | None] = [None] * len(host)
        elif trace.device and trace.device[0] < trace.calls[0]:
            device = unions_in(trace.calls, trace.device)
        else:
            raise ProfilerError(NO_DEVICE_EVENTS.format(self._device))
        for number, (wall, inside, work) in enumerate(zip(walls, host, device, strict=True)):
            phase = number % len(taken)
            taken[phase].add(wall, inside, self._costs[phase].ns, work)
        return calls

    def _run(self, calls: int, walls: list[int], plain: list[int] | None) -> None:
        """Adds the times of so many runs of the phases, in turns with those without recording:
        after a recording, what it left in memory slows calls of many small results to twice the
        time."""
        self._last = ()
        warm_up(self._phases, calls)
        for _ in range(calls):
            self._run_phases(walls)
            if plain is not None:
                with not_recorded():
                    self._run_phases(plain)

    def _run_phases(self, walls: list[int]) -> None:
        clock, wait = perf_counter_ns, self._synchronize
        marker = private.RECORD_FUNCTION.get()(MARKER)
        self._last, result = (), None
        for phase in self._phases:
            # Freed while the clock is not read, and before the next phase allocates.
            result = None
            begin = clock()
            with marker:
                result = phase()
                wait()
            walls.append(clock() - begin)
        self._last = (result,)


# Read when the first recording begins. Kineto's messages, one at each begin and end of a recording,
# have levels up to 5.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

MARKER = "opperf::call"

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
"""First words of events of `torch.compile` around the compiled graph, which has its own."""


class Trace(NamedTuple):
    """The events of a recording, each list sorted."""

    calls: list[Interval]
    host: list[Interval]
    """Operators and nodes of the backward pass, those inside others included."""
    device: list[Interval]


@contextmanager
def record(activities: set[ProfilerActivity], *, memory: bool = False) -> Iterator[list[Any]]:
    """Records the events inside; the list has the result after its end. Raises
    `UnsupportedError`."""
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
    """Traces the work inside, and writes the traces to the files that have a path."""
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
