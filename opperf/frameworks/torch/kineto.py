"""Kernel time by PyTorch's own profiler, kineto.

Each call is inside a marker, an event of the profiler's own clock, and its events are those that
begin within the marker: forward and backward passes differ by when they ran. On a CPU the backward
pass runs in the thread that called it, as an event for each node of the graph; threads of OpenMP
record none.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import NamedTuple

import torch
from torch._C._autograd import _enable_record_function, _supported_activities
from torch._C._profiler import ProfilerActivity, _RecordFunctionFast

from opperf.errors import ProfilerError, UnsupportedError
from opperf.frameworks.timing import PhaseTimes, Recording
from opperf.frameworks.torch.devices import synchronize, torch_device
from opperf.frameworks.torch.trace import MARKER, Union, read_trace, record, unions_in
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

OWN_SHARE = 0.2
"""Share of an event's cost that is inside its own time; the rest is before its begin or after its
end. Of 175 ns for each of nested markers, 34 were inside the innermost."""


class Work(NamedTuple):
    """A call's work."""

    time_ns: float
    union: Union


def less_recording(inside: Union, event_ns: float) -> Work:
    """Returns a call's time without the part that recording its events took. It is at least 0."""
    nested = inside.events - inside.outermost
    recording_ns = event_ns * (nested + OWN_SHARE * inside.outermost)
    return Work(max(0.0, inside.length_ns - recording_ns), inside)


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
            _enable_record_function(False)
            try:
                differences.append(recorded - _elapsed_ns(unbind))
            finally:
                _enable_record_function(True)
    events = len(read_trace(results[0].events()).host)
    if not events:
        raise ProfilerError(EMPTY)
    return max(0.0, statistics.median(differences) * CALIBRATING / events)


def _elapsed_ns(call: Callable[[], object]) -> int:
    begin = perf_counter_ns()
    call()
    return perf_counter_ns() - begin


LARGE_SHARE = 0.02
"""Share of the time that recording may take by that cost. Where it takes more, the cost is measured
on the case itself: from less than half as much, for events in a row, to twice as much, for those
that fill the caches and slow the operator."""

COMPARED = 25
"""Calls without recording that measure it: of so many, on a busy machine too, one is not
interrupted."""

MOST_TIMES = 2.5
"""Largest ratio of the two costs: beyond it, the machine was busy with something else."""


class EventCost:
    """The cost of an event of some phases, in nanoseconds."""

    def __init__(self, phases: int) -> None:
        self._phases = phases
        self._recorded: list[int] = []
        self._plain: list[int] = []
        self._events: list[int] = []
        self.ns = event_ns()

    def needs_calls(self, host: Sequence[Union]) -> bool:
        """Returns whether the cost is to be measured on these calls."""
        if len(self._plain) >= COMPARED:
            return False
        own = [host[place :: self._phases] for place in range(self._phases)]
        return any(
            event_ns() * statistics.median(call.events for call in calls)
            > LARGE_SHARE * statistics.median(call.length_ns for call in calls)
            for calls in own
        )

    def add(self, recorded: Sequence[int], plain: Sequence[int], host: Sequence[Union]) -> None:
        """Adds the wall-clock times of calls of the phases in turn, with recording and without."""
        self._recorded += self._rounds(recorded)
        self._plain += self._rounds(plain)
        # The markers are events too.
        self._events += self._rounds([call.events + 1 for call in host])
        # Of the fastest calls, as interruptions only add time.
        cost = (min(self._recorded) - min(self._plain)) / statistics.median(self._events)
        self.ns = min(max(cost, 0.0), MOST_TIMES * event_ns())

    def _rounds(self, figures: Sequence[int]) -> list[int]:
        """Returns the sum over the phases of each round."""
        firsts = range(0, len(figures), self._phases)
        return [sum(figures[first : first + self._phases]) for first in firsts]


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
"""What kineto has to record, by PyTorch's type of device."""


@dataclass
class _Taken:
    """The calls of a phase so far, in nanoseconds."""

    times: list[float] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)
    recorded: list[int] = field(default_factory=list)
    """The times with that of recording."""
    events: int = 0

    def phase_times(self, loops: int) -> PhaseTimes:
        """Returns the samples, each the mean of `loops` calls."""
        if not self.events:
            return PhaseTimes.of([], self.walls, loops)
        # Of the median call, as some calls are interrupted.
        share = 1 - statistics.median(self.times) / max(1, statistics.median(self.recorded))
        recording = Recording(self.events / len(self.times), share)
        return PhaseTimes.of(self.times, self.walls, loops)._replace(recording=recording)


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
        if activity not in _supported_activities():
            raise UnsupportedError(
                f"PyTorch's profiler records no work on {device} with this build; use --profiler "
                "python"
            )
        self._on_host = self._device.type == "cpu"
        self._activities = {ProfilerActivity.CPU, activity}
        self._phases: list[Callable[[], object]] = []
        self._calls_at_once = FIRST_CALLS
        self._cost = EventCost(0)

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
            self._calls_at_once, self._cost = FIRST_CALLS, EventCost(len(phases))
        taken = [_Taken() for _ in phases]
        done, calls = 0, count * loops
        while done < calls:
            now = min(self._calls_at_once, calls - done)
            self._record(now, taken)
            done += now
        return [one.phase_times(loops) for one in taken]

    def _record(self, calls: int, taken: Sequence[_Taken]) -> None:
        """Adds some calls of each phase to those taken so far."""
        walls: list[int] = []
        with record(self._activities) as results:
            if not self._on_host:
                # Work that must be in the trace.
                torch.zeros(1, device=self._device)
            self._synchronize()
            self._run(calls, walls)
        events = results[0].events()
        trace = read_trace(events)
        self._calls_at_once = max(1, MOST_EVENTS * calls // max(1, len(events)))
        if len(trace.calls) != len(walls):
            raise ProfilerError(EMPTY)
        host = unions_in(trace.calls, trace.host)
        if self._on_host:
            if self._cost.needs_calls(host):
                plain: list[int] = []
                self._run(min(calls, COMPARED), plain)
                self._cost.add(walls, plain, host)
            work = [less_recording(inside, self._cost.ns) for inside in host]
        elif trace.device and trace.device[0] < trace.calls[0]:
            work = [Work(one.length_ns, one) for one in unions_in(trace.calls, trace.device)]
        else:
            raise ProfilerError(NO_DEVICE_EVENTS.format(self._device))
        for number, (wall, inside, done) in enumerate(zip(walls, host, work, strict=True)):
            one = taken[number % len(taken)]
            # The marker is an event too.
            one.walls.append(max(0.0, wall - self._cost.ns * (inside.events + 1)))
            one.times.append(done.time_ns)
            one.recorded.append(done.union.length_ns)
            one.events += done.union.events

    def _run(self, calls: int, walls: list[int]) -> None:
        """Runs the phases, each call inside a marker, and adds the calls' wall-clock times."""
        for _ in range(min(WARM_CALLS, calls // CALLS_PER_WARM_CALL)):
            for phase in self._phases:
                phase()
        marker, clock, wait = _RecordFunctionFast(MARKER), perf_counter_ns, self._synchronize
        for _ in range(calls):
            for phase in self._phases:
                begin = clock()
                with marker:
                    result = phase()
                    wait()
                walls.append(clock() - begin)
                # Freed after the clock was read, and before the next phase allocates.
                del result
