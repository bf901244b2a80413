"""Profilers by name: a framework's own, the wall clock, and those of other packages; and
their events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint
from time import perf_counter_ns

from opperf.declared import declared, load_declared
from opperf.errors import UsageError, unknown
from opperf.frameworks import Framework
from opperf.frameworks.timing import PhaseTimes, Profiler, ProfilerFactory
from opperf.instruments.profilers.python import PythonTimer, QueueTimer, idle_wait
from opperf.model import MetricKind

GROUP = "opperf.profilers"
"""Entry points of other packages, each a callable that returns a `Profiler` for a framework and a
device, and raises `UnsupportedError` if it has none."""


@dataclass(frozen=True)
class AddedProfiler:
    """Makes the profiler of another package for a device."""

    entry: EntryPoint
    framework: Framework

    def load(self) -> Callable[[Framework, str], Profiler]:
        """Returns the callable of the entry point. Raises `UsageError` if its package is broken."""
        make: Callable[[Framework, str], Profiler] = load_declared(self.entry)
        if not callable(make):
            raise self._refusal("is not callable; fix its package")
        return make

    def __call__(self, device: str) -> Profiler:
        made = self.load()(self.framework, device)
        if not callable(getattr(made, "trace", None)):
            raise self._refusal(f"returned {type(made).__name__}, not a Profiler; fix its package")
        return made

    def _refusal(self, fault: str) -> UsageError:
        place = f"the profiler {self.entry.value}, an entry point of the group {GROUP},"
        return UsageError(f"{place} {fault}, or remove it")


def _wall_clock(framework: Framework, device: str) -> Profiler:
    """Returns the wall-clock timer; on asynchronous devices without the cost of waiting."""
    synchronize = partial(framework.synchronize, device)
    if framework.queues.is_asynchronous(device):
        return QueueTimer(synchronize, idle_wait(framework, device))
    return PythonTimer(synchronize) if framework.queues.has_queue(device) else PythonTimer()


EVENTS = "events"


def find_profilers(framework: Framework) -> dict[str, ProfilerFactory]:
    """Returns the factory of every profiler of a framework, by name, the preferred one first."""
    python = partial(_wall_clock, framework)
    common: dict[str, ProfilerFactory] = {**framework.profilers.own(), "python": python}
    # Not the preferred one, as the CPU of a framework whose GPU has events may have none.
    if any(framework.queues.has_events(device) for device in framework.devices()):
        common.setdefault(EVENTS, partial(EventProfiler, framework))
    added = {entry.name: AddedProfiler(entry, framework) for entry in declared(GROUP)}
    return {**common, **{name: make for name, make in added.items() if name not in common}}


def find_profiler(name: str, framework: Framework, others: Sequence[str] = ()) -> ProfilerFactory:
    """Returns the factory of the profiler of that name. Raises `UsageError` for an unknown name,
    for events where no device has some, and for a profiler whose package is broken. `others` are
    values of the option that time nothing, for the messages."""
    factories = find_profilers(framework)
    known = (*factories, *others)
    if name == EVENTS and name not in known:
        raise UsageError(
            f"profiler {EVENTS} needs a device that records events, as GPUs do; {framework.name} "
            f"finds {', '.join(framework.devices())} here; use one of {', '.join(known)}"
        )
    if name not in known:
        raise unknown("profiler", name, known, framework.name)
    factory = factories[name]
    if isinstance(factory, AddedProfiler):
        factory.load()
    return factory


def profiler(name: str, framework: Framework, device: str) -> Profiler:
    """Makes the profiler of that name for a device. Raises `UsageError` and `UnsupportedError`."""
    return find_profiler(name, framework)(device)


QUEUED = 100
"""Calls between two synchronisations. While the queue is not empty, the times contain no wait for
the host's dispatch; CUDA blocks the host when about a thousand launches are queued."""


class EventProfiler:
    """Times phases by an event before and after each."""

    kind = MetricKind.KERNEL

    def __init__(self, framework: Framework, device: str) -> None:
        self._event = partial(framework.queues.event, device)
        self._synchronize = partial(framework.synchronize, device)
        self.resolution_ns = self._event().resolution_ns

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        times: list[list[float]] = [[] for _ in phases]
        walls: list[list[float]] = [[] for _ in phases]
        result: object = None
        for done in range(0, count * loops, QUEUED):
            # Freed before the next phase allocates.
            result = None
            queued, result = self._queued(phases, min(QUEUED, count * loops - done))
            for index, (elapsed, wall) in enumerate(queued):
                times[index] += elapsed
                walls[index] += [wall] * len(elapsed)
        timed = [PhaseTimes.of(*both, loops) for both in zip(times, walls, strict=True)]
        timed[-1] = timed[-1]._replace(last=(result,))
        return timed

    def _queued(
        self, phases: Sequence[Callable[[], object]], calls: int
    ) -> tuple[list[tuple[list[float], float]], object]:
        """Returns each phase's times on the device and mean wall time, and the last result."""
        # Made in advance, so that the loop is as fast as possible on the host.
        pairs = [[(self._event(), self._event()) for _ in range(calls)] for _ in phases]
        on_host = [0] * len(phases)
        clock = perf_counter_ns
        result: object = None
        for call in range(calls):
            for index, phase in enumerate(phases):
                before, after = pairs[index][call]
                # Freed before the next phase allocates.
                result = None
                begin = clock()
                before.record()
                result = phase()
                after.record()
                on_host[index] += clock() - begin
        begin = clock()
        self._synchronize()
        # The wait for the queue is shared equally by all calls.
        waited = (clock() - begin) / len(phases)
        times = [
            ([after.elapsed_ns(before) for before, after in own], (host + waited) / calls)
            for own, host in zip(pairs, on_host, strict=True)
        ]
        return times, result
