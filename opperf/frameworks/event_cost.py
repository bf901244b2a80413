"""How long a profiler takes to record an event, in the calls of a case."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from opperf.frameworks.recording import Union

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
