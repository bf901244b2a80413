"""A clock that goes only when it is told to."""

import pytest

from opperf.instruments.profilers import python, reference_work, sampling
from opperf.machine import kernel as machine_clock


class Clock:
    """Stands for the module `time`. Each reading may itself take some time."""

    def __init__(self):
        self.ns = 0
        self.readings = 0
        self.reading_ns = lambda: 0

    def perf_counter_ns(self):
        self.readings += 1
        now = self.ns
        self.ns += self.reading_ns()
        return now

    def perf_counter(self):
        return self.perf_counter_ns() / 1e9

    def taking(self, *times_ns):
        """A call that takes these times, one after the other, the last one ever after."""
        left = list(times_ns)

        def call():
            self.ns += left.pop(0) if len(left) > 1 else left[0]

        return call


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (machine_clock, reference_work, python):
        monkeypatch.setattr(module, "perf_counter_ns", clock.perf_counter_ns)
    monkeypatch.setattr(sampling, "time", clock)
    return clock
