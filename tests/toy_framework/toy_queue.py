"""A framework whose calls run later, on a simulated device, and that has every capability that the
toy without any leaves to its defaults in measuring.

The device does the work of its queue when it is waited for, by a clock of its own: 100 ns for each
call.
"""

from toy_framework import Toy

from opperf.frameworks.timing import Timed
from opperf.model import MetricKind

CALL_NS = 100.0


class Queue:
    """The device: work that is put off, and the time at which the latest of it was done."""

    def __init__(self):
        self.ns = 0.0
        self.work = []

    def run(self):
        for one in self.work:
            one()
        self.work.clear()


class QueueProfiler:
    """Times by the device's own clock."""

    kind = MetricKind.KERNEL
    resolution_ns = 1.0

    def __init__(self, queue):
        self._queue = queue

    def trace(self, phases, count, loops=1):
        calls = [[] for _ in phases]
        for _ in range(count * loops):
            for phase, times in zip(phases, calls, strict=True):
                begin = self._queue.ns
                phase()
                self._queue.run()
                times.append(self._queue.ns - begin)
        return [Timed.of(times, times, loops) for times in calls]


class ToyQueue(Toy):
    name = "toyqueue"

    def __init__(self):
        self._queue = Queue()

    def bind(self, case, arguments, function=None):
        called = super().bind(case, arguments, function)

        def work():
            called()
            self._queue.ns += CALL_NS

        return lambda: self._queue.work.append(work)

    def synchronize(self, device):
        self._queue.run()

    def profilers(self):
        return {"toy": lambda device: QueueProfiler(self._queue)}


def framework():
    return ToyQueue()
