"""The Python timer: what it times, and in which order."""

import itertools
import weakref

import pytest

from opperf.frameworks.timing import PhaseTimes
from opperf.instruments.profilers import python
from opperf.instruments.profilers.python import (
    IdleWait,
    PythonTimer,
    QueueTimer,
    overhead_ns,
    resolution_ns,
)


@pytest.fixture
def first_in_a_process():
    """As if the clock had not been looked at before."""
    for measured in (resolution_ns, overhead_ns):
        measured.cache_clear()
    yield
    for measured in (resolution_ns, overhead_ns):
        measured.cache_clear()


@pytest.fixture
def five_ns_off(clock, monkeypatch):
    """5 ns are taken off each call."""
    monkeypatch.setattr(python, "resolution_ns", lambda: 1.0)
    monkeypatch.setattr(python, "overhead_ns", lambda waits: 5.0)


@pytest.fixture
def timer(five_ns_off):
    """One whose wait takes no time."""
    return PythonTimer(lambda: None)


def test_phases_take_turns_and_each_is_waited_for():
    calls = []
    timer = PythonTimer(lambda: calls.append("wait"))
    samples = timer.trace([lambda: calls.append("a"), lambda: calls.append("b")], 2)
    assert calls == ["a", "wait", "b", "wait"] * 2
    assert [len(timed.times) for timed in samples] == [2, 2]


def test_the_wait_is_part_of_the_time(clock, five_ns_off):
    waiting = PythonTimer(clock.taking(1000))
    first, second = waiting.trace([clock.taking(100), clock.taking(200)], 2)
    assert first == PhaseTimes([1095.0] * 2, [1095.0] * 2, [1095.0] * 2)
    assert second.times == [1195.0] * 2


def test_a_sample_is_the_mean_of_its_calls(clock, timer):
    (timed,) = timer.trace([clock.taking(15, 25, 35, 55, 105, 305)], 3, loops=2)
    assert timed.times == timed.walls == [15.0, 40.0, 200.0]
    assert timed.calls == [10.0, 20.0, 30.0, 50.0, 100.0, 300.0]


def test_a_call_that_is_quicker_than_the_timing_itself_takes_no_time(clock, timer):
    (timed,) = timer.trace([clock.taking(2, 4, 6)], 3)
    assert timed.times == [0.0, 0.0, 1.0]
    assert timed.calls == [-3.0, -1.0, 1.0], "their mean is to be right"


@pytest.mark.parametrize("loops", [1, 5])
def test_results_are_dropped_before_the_next_call_but_the_last(loops):
    class Output:
        pass

    earlier = []

    def call():
        assert all(reference() is None for reference in earlier)
        output = Output()
        earlier.append(weakref.ref(output))
        return output

    (timed,) = PythonTimer(lambda: None).trace([call], 5 // loops, loops)
    assert len(earlier) == 5 and timed.last == (earlier[-1](),)


def test_samples_are_means_of_calls_and_zero_at_least():
    timed = PhaseTimes.of([-50.0, 10.0, 30.0, 50.0], [100.0, 200.0, 300.0, 400.0], loops=2)
    assert timed.times == [0.0, 40.0] and timed.walls == [150.0, 350.0]
    assert timed.calls == [-50.0, 10.0, 30.0, 50.0]


@pytest.mark.parametrize("most", [1, 3, 4, 10, 11, 24, 100])
@pytest.mark.parametrize(
    ("loops", "samples"),
    [(3, [101.0, 104.0, 107.0, 110.0, 113.0]), (4, [101.5, 105.5, 109.5, 113.5, 117.5])],
)
def test_no_more_calls_are_kept_one_by_one_than_are_needed(
    clock, timer, monkeypatch, loops, samples, most
):
    monkeypatch.setattr(python, "MOST_CALLS", most)
    (timed,) = timer.trace([clock.taking(*range(105, 125))], 5, loops)
    assert timed.times == samples
    assert timed.calls == [100.0 + call for call in range(5 * loops)][:most]


def test_the_clocks_step_is_the_least_time_that_it_tells(clock, first_in_a_process):
    # A reading takes 1 ns, and one in three shows a step of 3 ns.
    clock.reading_ns = itertools.cycle([0, 0, 3]).__next__
    assert resolution_ns() == 3.0


@pytest.mark.parametrize("step", [1, 40])
def test_the_clocks_step_is_what_a_reading_takes_where_that_is_more(
    clock, first_in_a_process, step
):
    # One reading in ten is interrupted.
    clock.reading_ns = itertools.cycle([step] * 9 + [100_000]).__next__
    assert resolution_ns() == step


def test_what_a_sample_of_nothing_has_in_it_is_taken_off(clock, first_in_a_process):
    # Two readings to a call, of which one lies within the sample; one call in three is interrupted.
    clock.reading_ns = itertools.cycle([20, 20, 20, 20, 9000, 20]).__next__
    assert overhead_ns(waits=True) == 20.0
    clock.reading_ns = lambda: 20
    (timed,) = PythonTimer(lambda: None).trace([clock.taking(700)], 4)
    assert timed.times == [700.0] * 4


def test_the_clock_is_looked_at_once_in_a_process(clock, first_in_a_process):
    clock.reading_ns = lambda: 20
    first = PythonTimer(lambda: None)
    before = clock.readings
    second = PythonTimer(lambda: None)
    assert clock.readings == before > 0
    assert (first.resolution_ns, first.overhead_ns) == (20.0, 20.0)
    assert (second.resolution_ns, second.overhead_ns) == (20.0, 20.0)


class Device:
    """A device that calls are queued for, by the test's clock: to queue a call takes the host 10
    ns, and a wait 300 ns beside the work that is left."""

    name = "queued"

    def __init__(self, clock):
        self._clock, self._done_ns = clock, 0
        self.waits = 0

    def taking(self, *times_ns):
        left = list(times_ns)

        def call():
            self._clock.ns += 10
            took = left.pop(0) if len(left) > 1 else left[0]
            self._done_ns = max(self._done_ns, self._clock.ns) + took

        return call

    def synchronize(self, device="gpu(0)"):
        self.waits += 1
        self._clock.ns = max(self._clock.ns, self._done_ns) + 300


@pytest.fixture
def device(clock, monkeypatch):
    monkeypatch.setattr(python, "resolution_ns", lambda: 1.0)
    monkeypatch.setattr(python, "_IDLE_WAITS", {})
    return Device(clock)


def test_the_cost_of_a_wait_is_measured_with_the_device_idle(clock, device):
    device.taking(10**6)()
    # One wait in four is interrupted, one in four takes a little less.
    extra = itertools.cycle([0, 0, 5000, -20])
    plain = device.synchronize

    def synchronize(name):
        plain()
        clock.ns += next(extra)

    device.synchronize = synchronize
    assert python.idle_wait(device, "gpu(0)") == IdleWait(300.0, 10.0)
    waits = device.waits
    assert python.idle_wait(device, "gpu(0)").overhead_ns == 300.0
    assert device.waits == waits, "once in a process"
    python.idle_wait(device, "gpu(1)")
    assert device.waits == 2 * waits


def queue_timer(device, scatter_ns=0.0):
    return QueueTimer(device.synchronize, IdleWait(300.0, scatter_ns))


def test_the_cost_of_the_wait_is_taken_off_each_wait(device):
    (timed,) = queue_timer(device).trace([device.taking(700, 800)], 2)
    assert timed == PhaseTimes(*[[710.0, 810.0]] * 3, last=(None,))


def test_the_calls_of_a_sample_are_queued_together(device):
    timer = queue_timer(device)
    (timed,) = timer.trace([device.taking(700)], 3, loops=10)
    # The first call is on its way for 10 ns; after that the device has always work left.
    assert timed == PhaseTimes(*[[701.0] * 3] * 3, batch=10, last=(None,))
    assert device.waits == 3


def test_calls_that_take_the_host_longer_than_the_device_take_what_the_host_takes(device):
    (timed,) = queue_timer(device).trace([device.taking(2)], 1, loops=4)
    assert timed.times == [(4 * 10 + 2) / 4]


def test_phases_that_take_turns_are_waited_for_one_by_one(device):
    first, second = queue_timer(device).trace([device.taking(100), device.taking(200)], 2, loops=2)
    assert (first.times, second.times) == ([110.0] * 2, [210.0] * 2)
    assert (first.batch, second.batch) == (1, 1) and device.waits == 8


def test_a_batch_that_is_quicker_than_an_idle_wait_takes_no_time(clock, device):
    timer = QueueTimer(lambda: None, IdleWait(300.0, 0.0))
    assert timer.trace([clock.taking(20)], 1, loops=3)[0].times == [0.0]


@pytest.mark.parametrize(("scatter", "resolution"), [(0.0, 1.0), (25.0, 25.0)])
def test_a_sample_is_long_against_what_the_wait_scatters_by(device, scatter, resolution):
    assert queue_timer(device, scatter).resolution_ns == resolution
