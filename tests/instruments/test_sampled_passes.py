"""A profiler's times beside the wall clock's of calls without it."""

import pytest

from opperf.frameworks.timing import PhaseTimes, Recording
from opperf.instruments.profilers.python import PythonTimer
from opperf.instruments.profilers.reference_work import (
    COMPARED,
    LONGER,
    MIN_COMPARED,
    is_too_long,
    without_recording,
)

SCAN = Recording(2000.0, 0.2)


@pytest.mark.parametrize(
    "time, walls, recording, too_long",
    [
        (14e6, [1.6e6, 1.69e6, 1.8e6], SCAN, True),
        # One call that was interrupted is not the bound.
        (14e6, [1.6e6, 1.69e6, 90e6], SCAN, True),
        (1.69e6, [1.69e6], SCAN, False),
        (LONGER * 1.69e6, [1.69e6], SCAN, False),
        # Within the steps of the profiler's clock.
        (1000.0, [500.0], SCAN, False),
        # Nothing was recorded, or nothing is known.
        (14e6, [1.6e6], Recording(), False),
        (14e6, [], SCAN, False),
        (None, [1.6e6], SCAN, False),
    ],
)
def test_a_time_above_that_of_calls_without_recording_is_too_long(time, walls, recording, too_long):
    times = [] if time is None else [time] * 3
    timed = PhaseTimes(times, times, times, recording=recording)
    assert is_too_long(timed, walls, 1000.0) == too_long


@pytest.mark.parametrize("call_s, calls", [(1e-6, COMPARED), (0.01, 10), (3.0, MIN_COMPARED)])
def test_long_calls_are_compared_with_few(call_s, calls):
    called = []
    found = without_recording(PythonTimer(), [lambda: called.append(0)] * 2, call_s)
    assert [len(one.walls) for one in found] == [calls] * 2 and len(called) == 2 * calls
