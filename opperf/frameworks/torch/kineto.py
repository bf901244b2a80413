"""Kernel time by PyTorch's own profiler, kineto.

Each call is inside a marker, an event of the profiler's own clock, and its events are those that
begin within the marker: forward and backward passes differ by when they ran. On a CPU the backward
pass runs in the thread that called it, as an event for each node of the graph; threads of OpenMP
record none.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns

import torch
from torch.profiler import ProfilerActivity, supported_activities

from opperf.errors import ProfilerError, UnsupportedError
from opperf.frameworks.recording import EventCost, Taken, Union, unions_in
from opperf.frameworks.timing import PhaseTimes
from opperf.frameworks.torch import private
from opperf.frameworks.torch.devices import synchronize, torch_device
from opperf.frameworks.torch.trace import MARKER, read_trace, record
from opperf.model import MetricKind

MOST_EVENTS = 50_000
"""Maximum number of events of a recording: each takes 1.6 kB until it is read, and 2 us to be
read."""

FIRST_CALLS = 1
"""Calls of the first recording, which shows how many events a call has: one that converts a matrix
row by row has a hundred thousand."""

WARM_CALLS = 3
"""Calls at the begin of a recording that are not timed. They are up to twice as long as later ones,
as reading the events of the last recording filled the caches with these."""

CALLS_PER_WARM_CALL = 5
"""Timed calls for each of those, so that they take at most a fifth more time."""

CHAIN = 32
"""Steps of the operator that measures the cost of an event: it has two events for each, which do
next to nothing."""

CALIBRATING = 200
"""Pairs of calls of that operator whose median difference is the cost: 50 ms, once in a process."""


@functools.cache
def event_ns() -> float:
    """Returns the nanoseconds that recording an event takes: the median difference between a call
    whose events are recorded and one whose are not, for each event. Measured once in a process."""
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


class NativeProfiler:
    """Kernel time by PyTorch's profiler: on a CPU that of operators and of the backward pass's
    nodes, less the cost of recording them; on other devices that of kernels, copies and fills."""

    kind = MetricKind.KERNEL
    resolution_ns = 1.0
    """Kineto reads the processor's time stamp counter, and its times are whole nanoseconds."""

    def __init__(self, device: str) -> None:
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
        self._phases: list[Callable[[], object]] = []
        self._calls_at_once = FIRST_CALLS
        self._costs: list[EventCost] = []
        self._in_turns = False
        """Whether calls that are not recorded follow those that are, and show what that costs."""

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        """Runs the phases in order, `count` times `loops` times, and synchronises the device after
        each.

        Returns each phase's samples in nanoseconds, each the mean of `loops` calls; no times for a
        phase that has no event. Raises `ProfilerError` if nothing was recorded.
        """
        if self._phases != list(phases):
            self._phases = list(phases)
            self._costs = [EventCost(event_ns()) for _ in phases]
            self._calls_at_once, self._in_turns = FIRST_CALLS, False
        taken = [Taken() for _ in phases]
        done, calls = 0, count * loops
        while done < calls:
            done += self._record(min(self._calls_at_once, calls - done), taken)
        return [samples.phase_times(loops) for samples in taken]

    def _record(self, calls: int, taken: Sequence[Taken]) -> int:
        """Adds some calls of each phase to those taken so far, and returns their number. It is none
        where these show that recording them takes a large part of their time."""
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
        self._calls_at_once = max(1, MOST_EVENTS * calls // max(1, len(events)))
        if len(trace.calls) != len(walls):
            raise ProfilerError(EMPTY)
        host = unions_in(trace.calls, trace.host)
        if self._on_host:
            phases = [slice(place, None, len(taken)) for place in range(len(taken))]
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
        """Runs the phases so many times, and adds their wall-clock times; those without recording
        to `plain`, in turns: after a recording, what it left in memory slows calls of many small
        results to twice the time."""
        for _ in range(min(WARM_CALLS, calls // CALLS_PER_WARM_CALL)):
            for phase in self._phases:
                phase()
        for _ in range(calls):
            self._run_phases(walls)
            if plain is not None:
                with not_recorded():
                    self._run_phases(plain)

    def _run_phases(self, walls: list[int]) -> None:
        """Runs each phase inside a marker, and adds their wall-clock times."""
        clock, wait = perf_counter_ns, self._synchronize
        marker = private.RECORD_FUNCTION.get()(MARKER)
        for phase in self._phases:
            begin = clock()
            with marker:
                result = phase()
                wait()
            walls.append(clock() - begin)
            # Freed after the clock was read, and before the next phase allocates.
            del result
