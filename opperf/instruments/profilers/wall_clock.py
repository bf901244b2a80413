"""Whether a profiler's times can be right: the events of a call take no longer than the call.

Recording a call's events makes it longer, by more where the machine is busy or the events are many,
and their cost is subtracted as it is measured elsewhere. So a time may end up above that of the
same call without recording.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from opperf.frameworks.timing import PhaseTimes, Profiler

LONGER = 1.05
"""Ratio of a profiler's time to the wall clock's from which it is too long; less is noise of
either."""

LATEST = 5
"""Calls of the warm-up, the last ones, that a profiler's times are compared with first."""

COMPARED = 25
MIN_COMPARED = 5
COMPARED_S = 0.1
"""Calls without recording that decide, at most and at least, and the seconds that they may take."""


def is_too_long(timed: PhaseTimes, walls_ns: Sequence[float], resolution_ns: float) -> bool:
    """Returns whether a phase's times are longer than the wall clock's of calls without
    recording. Only what records events inside a call makes it longer."""
    if not timed.times or not walls_ns or not timed.recording.events:
        return False
    wall = statistics.median(walls_ns)
    return statistics.median(timed.times) > LONGER * wall + resolution_ns


def without_recording(
    clock: Profiler, phases: Sequence[Callable[[], object]], call_s: float
) -> list[PhaseTimes]:
    """Returns wall-clock times of the phases, of which a call of all takes about `call_s`
    seconds."""
    fitting = int(COMPARED_S / call_s) if call_s > 0 else COMPARED
    return clock.trace(phases, max(MIN_COMPARED, min(COMPARED, fitting)))
