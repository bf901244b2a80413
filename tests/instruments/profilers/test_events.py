"""Times between two events in a device's queue."""

import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import Framework, capabilities
from opperf.instruments import profilers
from opperf.instruments.profilers import EventProfiler, find_profilers, profiler
from opperf.model import MetricKind


class Event:
    resolution_ns = 8.0

    def __init__(self, device):
        self._device, self.ns = device, None

    def record(self):
        self._device.queue.append(self._come)

    def _come(self):
        self.ns = self._device.ns

    def elapsed_ns(self, earlier):
        return self.ns - earlier.ns


class EventQueues(capabilities.Queues):
    def has_events(self, device):
        return device == "gpu(0)"

    def event(self, device):
        return Event(self.framework) if self.has_events(device) else super().event(device)


class Queued(Framework):
    """A framework with events on its GPU, which does its work when it is waited for."""

    name = "queued"
    capabilities = (EventQueues,)

    def __init__(self, clock):
        super().__init__()
        self.clock, self.ns, self.queue, self.waits = clock, 0.0, [], []

    def devices(self):
        return ("gpu(0)", "cpu(0)")

    def synchronize(self, device):
        self.waits.append(device)
        for work in self.queue:
            work()
        self.queue.clear()
        self.clock.ns += 1000

    def taking(self, *times_ns):
        """A phase that takes these times on the device, and 10 ns on the host."""
        left = list(times_ns)

        def run():
            self.ns += left.pop(0) if len(left) > 1 else left[0]

        def phase():
            self.clock.ns += 10
            self.queue.append(run)

        return phase


@pytest.fixture
def framework(clock, monkeypatch):
    monkeypatch.setattr(profilers, "perf_counter_ns", clock.perf_counter_ns)
    return Queued(clock)


def test_events_are_offered_where_a_device_has_them():
    assert list(find_profilers(Queued(None))) == ["python", "events"]

    class Without(Framework):
        name = "without"

    assert list(find_profilers(Without())) == ["python"]


def test_a_device_without_events_is_refused(framework):
    with pytest.raises(UnsupportedError, match="queued has no events on cpu"):
        profiler("events", framework, "cpu(0)")
    timer = profiler("events", framework, "gpu(0)")
    assert (timer.kind, timer.resolution_ns) == (MetricKind.KERNEL, 8.0)


def test_each_phase_has_its_own_time_on_the_device(framework):
    timer = EventProfiler(framework, "gpu(0)")
    phases = [framework.taking(100), framework.taking(200, 220, 240, 260)]
    first, second = timer.trace(phases, 2, loops=2)
    assert first.times == [100.0, 100.0] and first.calls == [100.0] * 4
    assert second.times == [210.0, 250.0] and second.calls == [200.0, 220.0, 240.0, 260.0]
    assert framework.waits == ["gpu(0)"], "one wait for all of them"
    # 10 ns on the host, and a part of the wait for eight calls.
    assert first.walls == second.walls == [10 + 1000 / 8] * 2


@pytest.mark.parametrize(("most", "waits"), [(1, 7), (3, 3), (7, 1), (8, 1)])
def test_no_more_calls_are_queued_than_the_driver_takes(framework, monkeypatch, most, waits):
    monkeypatch.setattr(profilers, "QUEUED", most)
    (timed,) = EventProfiler(framework, "gpu(0)").trace([framework.taking(*range(7))], 7)
    assert timed.times == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert len(framework.waits) == waits
