"""The Python timer: what it times, and in which order."""

import time
import weakref

import pytest

from opperf.frameworks.base import Timed
from opperf.profilers import python
from opperf.profilers.python import PythonTimer


def test_phases_take_turns_and_each_is_waited_for():
    calls = []
    timer = PythonTimer(lambda: calls.append("wait"))
    samples = timer.trace([lambda: calls.append("a"), lambda: calls.append("b")], 2)
    assert calls == ["a", "wait", "b", "wait"] * 2
    assert [len(timed.times) for timed in samples] == [2, 2]


def test_the_wait_is_part_of_the_time():
    timer = PythonTimer(lambda: time.sleep(0.01))
    (timed,) = timer.trace([lambda: None], 3, loops=2)
    assert len(timed.times) == 3 and len(timed.calls) == 6
    assert all(10e6 <= t < 500e6 for t in timed.times + timed.calls)
    assert timed.times[1] == pytest.approx(sum(timed.calls[2:4]) / 2)


def test_a_result_is_dropped_before_the_next_call():
    class Output:
        pass

    earlier = []

    def call():
        assert all(reference() is None for reference in earlier)
        output = Output()
        earlier.append(weakref.ref(output))
        return output

    PythonTimer(lambda: None).trace([call], 5)
    assert len(earlier) == 5


def test_samples_are_means_of_calls_and_zero_at_least():
    timed = Timed.of([-50.0, 10.0, 30.0, 50.0], [100.0, 200.0, 300.0, 400.0], loops=2)
    assert timed.times == [0.0, 40.0] and timed.walls == [150.0, 350.0]
    assert timed.calls == [-50.0, 10.0, 30.0, 50.0]


def test_no_more_calls_are_kept_one_by_one_than_are_needed(monkeypatch):
    monkeypatch.setattr(python, "MOST_CALLS", 10)
    (timed,) = PythonTimer(lambda: None).trace([lambda: None], 50, loops=4)
    assert len(timed.times) == 50 and len(timed.calls) == 10
