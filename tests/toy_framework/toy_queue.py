"""A framework whose calls run later, on a simulated device with events, a pool of threads and a
cache of its own.

The device does the work of its queue when it is waited for, by a clock of its own: 100 ns for each
call, and 50 ns more where the call's data were flushed from the cache before; 50 ns for an empty
kernel.
"""

from functools import partial

from toy_framework import Toy

from opperf.errors import UnsupportedError
from opperf.frameworks import capabilities
from opperf.frameworks.timing import PhaseTimes
from opperf.model import MetricKind

CALL_NS, MISS_NS, EMPTY_NS = 100.0, 50.0, 50.0

CHIP = "gpu(0)"


class Queue:
    """The device: queued work, and the time at which the latest was done."""

    def __init__(self):
        self.ns = 0.0
        self.is_cold = False
        self.work = []

    def call(self):
        self.ns += CALL_NS + (MISS_NS if self.is_cold else 0.0)
        self.is_cold = False

    def take(self, ns):
        self.ns += ns

    def flush(self):
        self.is_cold = True

    def run(self):
        for one in self.work:
            one()
        self.work.clear()


class Event:
    resolution_ns = 1.0

    def __init__(self, queue):
        self._queue, self._ns = queue, 0.0

    def record(self):
        self._queue.work.append(self._come)

    def _come(self):
        self._ns = self._queue.ns

    def elapsed_ns(self, earlier):
        return self._ns - earlier._ns


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
        return [PhaseTimes.of(times, times, loops) for times in calls]


class ToyQueues(capabilities.Queues):
    def is_asynchronous(self, device):
        return device == CHIP

    def empty_kernel(self, device):
        return self.framework.launch if device == CHIP else None

    def has_events(self, device):
        return device == CHIP

    def event(self, device):
        if not self.has_events(device):
            raise UnsupportedError(f"{device} has no events; use --ctx gpu")
        return Event(self.framework.queue)

    def cache_flush(self, device):
        return lambda: self.framework.queue.work.append(self.framework.queue.flush)


class ToyProcesses(capabilities.Processes):
    _threads = 4

    def set_threads(self, count):
        self._threads = count

    def threads(self):
        return self._threads


class ToyProfilers(capabilities.Profilers):
    def own(self):
        return {"toy": lambda device: QueueProfiler(self.framework.queue)}


class ToyQueue(Toy):
    name = "toyqueue"
    empty_ns = EMPTY_NS
    capabilities = (ToyQueues, ToyProcesses, ToyProfilers)

    def __init__(self):
        super().__init__()
        self.queue = Queue()

    def devices(self):
        return (CHIP, "cpu(0)")

    def parse_device(self, text):
        return CHIP if text.startswith("gpu") else super().parse_device(text)

    def launch(self):
        self.queue.work.append(partial(self.queue.take, self.empty_ns))

    def bind(self, case, arguments, function=None):
        called = super().bind(case, arguments, function)

        def work():
            called()
            self.queue.call()

        return lambda: self.queue.work.append(work)

    def synchronize(self, device):
        self.queue.run()


def framework():
    return ToyQueue()
