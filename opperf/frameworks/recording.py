"""Intervals of a profiler's clock: unions of a call's events, less what recording them took."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from opperf.frameworks.timing import PhaseTimes, Recording

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
    """Returns for each call the union of the events that begin within it; both are sorted."""
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
    """Returns a call's time without the part that recording its events took: at least 0, and at
    most the call's wall-clock time, `wall_ns`, from which all of it is taken."""
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
        """Adds a call of some wall-clock time: the events of the host, the time that recording one
        takes, and those of the device, where the work is done on another."""
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
    """The cost of an event of a phase, in nanoseconds: that in the process, `event_ns`, until it is
    measured by the phase's own calls."""

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
        """Measures the cost by the wall-clock times of calls in turn, with recording and without,
        and those before."""
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
