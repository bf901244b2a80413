"""The Python timer: what it times, and in which order."""

import time
import weakref

from opperf.profilers.python import PythonTimer


def test_phases_take_turns_and_each_is_waited_for():
    calls = []
    timer = PythonTimer(lambda: calls.append("wait"))
    samples = timer.trace([lambda: calls.append("a"), lambda: calls.append("b")], 2)
    assert calls == ["a", "wait", "b", "wait"] * 2
    assert [len(times) for times, _ in samples] == [2, 2]


def test_the_wait_is_part_of_the_time():
    timer = PythonTimer(lambda: time.sleep(0.01))
    ((times, _),) = timer.trace([lambda: None], 3)
    assert all(10e6 <= t < 500e6 for t in times)


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
