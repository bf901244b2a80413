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
