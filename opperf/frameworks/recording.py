"""Intervals of a profiler's clock: unions of a call's events, less what recording them took."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opperf.frameworks.timing import PhaseTimes, Recording
from opperf.model import MetricKind

Interval = tuple[int, int]
"""Begin and end in nanoseconds of the profiler's clock."""


class Union(NamedTuple):
    """The union of a call's events."""

    length_ns: int
    events: int = 0
    outermost: int = 0
    """Events that begin when no other is running."""


def union(intervals: Sequence[Interval]) -> Union:
    """Returns the union of sorted intervals, in which nested and simultaneous events count once."""
    length = outermost = reached = 0
    for begin, end in intervals:
        outermost += begin >= reached
        length += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return Union(length, len(intervals), outermost)


def unions_in(calls: Sequence[Interval], events: Sequence[Interval]) -> list[Union]:
    """Returns the union of the events that begin within each call; both are sorted."""
    found, position = [], 0
    for begin, end in calls:
        while position < len(events) and events[position][0] < begin:
            position += 1
        first = position
        while position < len(events) and events[position][0] <= end:
            position += 1
        found.append(union(events[first:position]))
    return found


OWN_SHARE = 0.2
"""Share of an event's cost that is inside its own time; the rest is before its begin or after its
end. Of 175 ns for each of nested markers, 34 were inside the innermost."""


def less_recording(inside: Union, event_ns: float, wall_ns: float) -> float:
    """Returns a call's time without recording: from 0 to its wall-clock time without all of it."""
    nested = inside.events - inside.outermost
    recording_ns = event_ns * (nested + OWN_SHARE * inside.outermost)
    return min(max(0.0, inside.length_ns - recording_ns), wall_ns)


@dataclass
class Taken:
    """The calls of a phase so far, in nanoseconds."""

    times: list[float] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)
    recorded: list[int] = field(default_factory=list)
    """The times with that of recording."""
    events: int = 0

    def add(
        self, wall_ns: float, host: Union, event_ns: float, device: Union | None = None
    ) -> None:
        """Adds a call: its wall-clock time, the events of the host, the time that recording one
        takes, and the events of the device, where the work is done on another."""
        # The marker is an event too.
        wall = max(0.0, wall_ns - event_ns * (host.events + 1))
        work = host if device is None else device
        time = less_recording(host, event_ns, wall) if device is None else device.length_ns
        self.walls.append(wall)
        self.times.append(time)
        self.recorded.append(work.length_ns)
        self.events += work.events

    def phase_times(self, loops: int) -> PhaseTimes:
        """Returns the samples, each the mean of `loops` calls."""
        if not self.events:
            return PhaseTimes.of([], self.walls, loops)
        # Of the median call, as some calls are interrupted.
        share = 1 - statistics.median(self.times) / max(1, statistics.median(self.recorded))
        recording = Recording(self.events / len(self.times), share)
        return PhaseTimes.of(self.times, self.walls, loops)._replace(recording=recording)


LARGE_SHARE = 0.01
"""Share of the time that recording may take by the cost in the process. Where it takes more, the
cost is that of the case's own calls: it is twice as much where the events fill the caches and slow
the operator, and a fifth more for some of XLA's programs."""

FILLED = 0.9
"""Least share of a call that its events have to take for the cost to be the case's own. In a
shorter one, most of what recording adds is beside the events: autograd's engine takes 1.2 us more
for each node, an event inside it 0.15; and waking XLA's threads takes longer or less long by as
much as all of its events."""

MOST_TIMES = 2.5
"""Largest ratio of the two costs: beyond it, the machine was busy with something else."""


class EventCost:
    """The nanoseconds of an event of a phase: `event_ns` until its own calls measure them."""

    def __init__(self, event_ns: float) -> None:
        self.ns = self._event_ns = event_ns
        self._recorded: list[int] = []
        self._plain: list[int] = []
        self._calls: list[Union] = []

    def is_large(self, calls: Sequence[Union]) -> bool:
        """Returns whether the cost is to be measured by calls such as these."""
        recording_ns = self._event_ns * statistics.median(call.events for call in calls)
        return recording_ns > LARGE_SHARE * statistics.median(call.length_ns for call in calls)

    def add(self, recorded: Sequence[int], plain: Sequence[int], calls: Sequence[Union]) -> None:
        """Measures the cost by the wall-clock times of calls with and without recording."""
        self._recorded += recorded
        self._plain += plain
        self._calls += calls
        wall = statistics.median(self._recorded)
        if statistics.median(call.length_ns for call in self._calls) < FILLED * wall:
            self.ns = self._event_ns
            return
        # The marker is an event too. By medians, like the times that it is subtracted from: the
        # fastest one of either kind may have had memory that none of the other has.
        events = statistics.median(call.events + 1 for call in self._calls)
        cost = (wall - statistics.median(self._plain)) / events
        self.ns = min(max(cost, 0.0), MOST_TIMES * self._event_ns)


MOST_EVENTS = 50_000
"""Of a recording: each event takes 1.6 kB until it is read, and 2 us to be read."""

FIRST_CALLS = 1
"""Calls of the first recording, which shows how many events a call has: one that converts a matrix
row by row has a hundred thousand."""

WARM_CALLS = 3
"""Calls at the begin of a recording that are not timed. They are up to twice as long as later ones,
as reading the events of the last recording filled the caches with these."""

CALLS_PER_WARM_CALL = 5
"""Timed calls for each of those, so that they take at most a fifth more time."""


def warm_up(phases: Sequence[Callable[[], object]], calls: int) -> None:
    """Runs the phases before so many calls that are timed."""
    for _ in range(min(WARM_CALLS, calls // CALLS_PER_WARM_CALL)):
        for phase in phases:
            phase()


class RecordingProfiler:
    """Kernel time by a framework's own profiler, in recordings of at most `MOST_EVENTS` events."""

    kind = MetricKind.KERNEL
    resolution_ns = 1.0
    """Of the processor's time stamp counter; the profilers' times are whole nanoseconds."""
    reads_slowly = False
    """Whether a recording takes a tenth of a second to be read: the caller looks at the time."""

    def __init__(self) -> None:
        self._phases: list[Callable[[], object]] = []
        self._calls_at_once = FIRST_CALLS
        self._last: tuple[Any, ...] = ()
        """The result of the very last call."""

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        """Returns as `Profiler.trace`. Raises `ProfilerError` if nothing was recorded."""
        if self._phases != list(phases):
            self._phases = list(phases)
            self._calls_at_once = FIRST_CALLS
            self._begin()
        taken = [Taken() for _ in phases]
        done, calls = 0, count * loops
        while done < calls:
            done += self._record(min(self._calls_at_once, calls - done), taken)
            if self.reads_slowly and calls - done > self._calls_at_once and done % loops == 0:
                break
        timed = [samples.phase_times(loops) for samples in taken]
        timed[-1] = timed[-1]._replace(last=self._last)
        self._last = ()
        return timed

    def _begin(self) -> None:
        """Begins with other phases."""

    def _record(self, calls: int, taken: Sequence[Taken]) -> int:
        """Adds some calls of each phase to those taken, and returns their number. Keeps what the
        last one returned in `_last`, which is empty while the next one runs."""
        raise NotImplementedError

    def _limit(self, calls: int, events: int) -> None:
        """Sets the calls of the next recording by the events of one of so many calls."""
        self._calls_at_once = max(1, MOST_EVENTS * calls // max(1, events))


def of_each(phases: int) -> list[slice]:
    """Returns the calls of each phase among those of all in turn."""
    return [slice(place, None, phases) for place in range(phases)]
