"""MXNet's own profiler, read from the Chrome trace that it writes: every operator call and every
change of the memory counter, in microseconds of the system clock. Calls are separated by the clock,
never by the operator's name: a call may run several operators, and the backward pass of one shows
as `ImperativeBulk`."""

from __future__ import annotations

import functools
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import mxnet as mx

from opperf.frameworks.mxnet.device import context
from opperf.frameworks.recording import Interval, unions_in
from opperf.frameworks.timing import PhaseTimes, Recording
from opperf.model import MetricKind

OPERATOR_CATEGORIES = ("operator", "Custom Operator")
"""Trace categories that hold kernels; a custom operator's parts are in one of their own."""

HOUSEKEEPING = re.compile(r"(^|::)(DeleteVariable|WaitForVar|Resource\w*SetSeed|SetupExec)$")
"""Work of MXNet's engine that is not the operator's: freeing, waiting, seeding."""

NS_PER_US = 1000


class Event(msgspec.Struct):
    """The fields used of an entry of a Chrome trace. Times in microseconds."""

    ph: str
    name: str = ""
    cat: str = ""
    ts: int = 0
    tid: int = 0
    args: dict[str, int | str] = {}


def now_us() -> int:
    """Returns the microseconds on the clock that MXNet's profiler uses."""
    return time.time_ns() // NS_PER_US


OPENING, CLOSING = '"traceEvents": [', "]"


def parse(text: str) -> list[Event]:
    """Returns the events of a trace. All dumps but a process's first have a comma before their
    first event, so the list is taken out and closed here."""
    inside = text.partition(OPENING)[2].rpartition(CLOSING)[0].strip().strip(",")
    return msgspec.json.decode(f"[{inside}]", type=list[Event])


class Profiler:
    """MXNet's profiler, of which a process has one. It writes to a file without a name, by its
    descriptor, so that no file remains however the process ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()
        mx.profiler.set_config(
            filename=f"/dev/fd/{self._file.fileno()}",
            profile_imperative=True,
            profile_memory=True,
            profile_symbolic=True,
            profile_api=False,
            aggregate_stats=False,
            # A continuous dump starts and stops a thread with each recording; about once in ten
            # thousand times that ends the process.
            continuous_dump=False,
        )
        self._recorded: list[Event] | None = None

    @contextmanager
    def record(self) -> Iterator[list[Event]]:
        """Records the events inside the context, in a list that nested recordings share."""
        if self._recorded is not None:
            yield self._recorded
            mx.nd.waitall()
            return
        events = self._recorded = []
        mx.nd.waitall()
        mx.profiler.set_state("run")
        try:
            yield events
            mx.nd.waitall()
        finally:
            self._recorded = None
            mx.profiler.set_state("stop")
            mx.profiler.dump(finished=False)
            self._file.seek(0)
            text = self._file.read().decode()
        events.extend(parse(text))


@functools.cache
def profiler() -> Profiler:
    """Returns the one profiler of this process."""
    return Profiler()


def kernel_intervals(events: list[Event]) -> list[Interval]:
    """Returns the begin and end of every kernel, sorted, in microseconds."""
    open_at: dict[tuple[int, str, str], list[int]] = {}
    intervals: list[Interval] = []
    relevant = [
        event
        for event in events
        if event.ph in ("B", "E")
        and event.cat in OPERATOR_CATEGORIES
        and not HOUSEKEEPING.search(event.name)
    ]
    # A kernel that begins and ends in one microsecond: its B sorts before its E.
    for event in sorted(relevant, key=lambda event: (event.ts, event.ph)):
        begins = open_at.setdefault((event.tid, event.cat, event.name), [])
        if event.ph == "B":
            begins.append(event.ts)
        elif begins:
            intervals.append((begins.pop(), event.ts))
    return sorted(intervals)


def times_in_windows(events: list[Event], windows: list[Interval]) -> list[float]:
    """Returns the kernel time inside each window, in nanoseconds; empty if none has a kernel."""
    found = unions_in(windows, kernel_intervals(events))
    has_kernels = any(inside.events for inside in found)
    return [float(inside.length_ns * NS_PER_US) for inside in found] if has_kernels else []


class NativeProfiler:
    """Kernel times from MXNet's profiler."""

    kind = MetricKind.KERNEL
    resolution_ns = float(NS_PER_US)

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        windows: list[list[Interval]] = [[] for _ in phases]
        waitall = mx.nd.waitall
        result: object = None
        with profiler().record() as events:
            for _ in range(count * loops):
                for phase, window in zip(phases, windows, strict=True):
                    # Freed while the clock is not read, and before the next phase allocates.
                    result = None
                    begin = now_us()
                    result = phase()
                    waitall()
                    window.append((begin, now_us()))
        # Their cost is not subtracted.
        recording = Recording(len(events) / (count * loops * len(phases)))
        timed = [
            PhaseTimes.of(
                times_in_windows(events, window),
                [float((end - begin) * NS_PER_US) for begin, end in window],
                loops,
            )._replace(recording=recording)
            for window in windows
        ]
        timed[-1] = timed[-1]._replace(last=(result,))
        return timed


class MemoryMeter:
    """Bytes allocated above the level at entry, on one device. The counter runs only while the
    profiler does; an array made at entry and kept to the end makes it report the level."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._counter = f"Memory: {device.rstrip(')').replace('(', '/')}"
        self._events: list[Event] = []
        self._entered_us = self._left_us = 0

    @contextmanager
    def measure(self) -> Iterator[MemoryMeter]:
        with profiler().record() as self._events:
            mark = mx.nd.zeros((1,), ctx=context(self._device))
            mx.nd.waitall()
            self._entered_us = _tick()
            yield self
            mx.nd.waitall()
            self._left_us = _tick()
        del mark

    @functools.cached_property
    def _levels(self) -> tuple[int, list[int]]:
        """The counter at entry, and its values inside, in bytes."""
        level = 0
        inside: list[tuple[int, int]] = []
        latest = -1
        for event in self._events:
            if event.ph != "C" or event.name != self._counter:
                continue
            value = int(event.args[self._counter])
            if event.ts > self._entered_us:
                if event.ts <= self._left_us:
                    inside.append((event.ts, value))
            elif event.ts >= latest:
                latest, level = event.ts, value
        inside.sort(key=lambda pair: pair[0])
        return level, [value for _, value in inside]

    reserved_bytes: int | None = None

    @property
    def peak_bytes(self) -> int:
        level, inside = self._levels
        return max(0, *inside, level) - level if inside else 0

    @property
    def kept_bytes(self) -> int:
        level, inside = self._levels
        return inside[-1] - level if inside else 0


def _tick() -> int:
    """Waits for the next microsecond and returns the one before, as times of events are whole ones,
    and later events must not share one with earlier events."""
    now = now_us()
    while now_us() == now:
        pass
    return now
