"""The memory that calls allocate on a device.

On a CPU it is exact: PyTorch's profiler records each allocation and each release of PyTorch's
allocator, with the address. oneDNN's scratchpads and reordered tensors come from it too. Not seen
are memory that libraries take from the system themselves, as MKL does for the packed blocks of a
matrix product, and allocations of other threads; operators allocate in the thread that calls them,
and on a CPU the backward pass does.

On a GPU it is the peak of the caching allocator's counters, in blocks of 512 bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity

from opperf.errors import ProfilerError, UnsupportedError
from opperf.frameworks.base import MemoryReading
from opperf.frameworks.torch import private
from opperf.frameworks.torch.devices import torch_device
from opperf.frameworks.torch.kineto import record


def measure(device: str) -> AbstractContextManager[MemoryReading]:
    """Returns a context that measures the memory allocated on the device. See `DeviceMemory`."""
    target = torch_device(device)
    if target.type == "cpu":
        return _measure_host()
    if target.type in ALLOCATORS:
        return _measure_allocator(ALLOCATORS[target.type], target.index)
    raise UnsupportedError(f"PyTorch does not report the peak of the memory on {device}")


class HostReading:
    """The memory allocated inside a context; set when the outermost context has ended."""

    peak_bytes: int
    kept_bytes: int
    reserved_bytes: int | None = None


class Change(NamedTuple):
    """An allocation, or with a negative size a release."""

    time_ns: int
    address: int
    size: int


class Span(NamedTuple):
    """The time of a context."""

    begin_ns: int
    end_ns: int


MARKER = "opperf::memory"
"""Beginning of the names of the events that are the contexts' times."""

UNRECORDED = (
    "PyTorch's profiler recorded no allocation, not even one made for this; another profiler may "
    "be running in this process"
)


class _HostRecording:
    """The recording that nested contexts share."""

    def __init__(self) -> None:
        self._readings: dict[str, HostReading] = {}

    @contextmanager
    def measure(self) -> Iterator[HostReading]:
        name = f"{MARKER} {len(self._readings)}"
        reading = self._readings[name] = HostReading()
        with private.RECORD_FUNCTION.get()(name):
            yield reading

    def evaluate(self, roots: Iterable[Any], known_address: int) -> None:
        """Sets all readings. Raises `ProfilerError` without an allocation at the known address."""
        allocation = private.ALLOCATION.get()
        spans: dict[str, Span] = {}
        changes: list[Change] = []
        waiting = list(roots)
        while waiting:
            event = waiting.pop()
            waiting += event.children
            fields = event.extra_fields
            if isinstance(fields, allocation):
                if fields.device.type == "cpu":
                    changes.append(Change(event.start_time_ns, fields.ptr, fields.alloc_size))
            elif event.name in self._readings:
                spans[event.name] = Span(event.start_time_ns, event.end_time_ns)
        is_recorded = any(change.address == known_address for change in changes)
        if not is_recorded or len(spans) < len(self._readings):
            raise ProfilerError(UNRECORDED)
        levels = levels_after(changes)
        for name, reading in self._readings.items():
            reading.peak_bytes, reading.kept_bytes = above_entry(levels, spans[name])


_recording: _HostRecording | None = None
"""The recording of the contexts that are open; a process can have one."""


@contextmanager
def _measure_host() -> Iterator[HostReading]:
    global _recording
    if _recording is not None:
        with _recording.measure() as reading:
            yield reading
        return
    _recording = _HostRecording()
    try:
        with record({ProfilerActivity.CPU}, memory=True) as results:
            # An allocation that must be recorded, so that an empty trace is not a peak of 0.
            known_address = torch.empty(1).data_ptr()
            with _recording.measure() as reading:
                yield reading
        _recording.evaluate(results[0].experimental_event_tree(), known_address)
    finally:
        _recording = None


class Level(NamedTuple):
    """The bytes allocated since the beginning, from a time on."""

    time_ns: int
    allocated: int


def levels_after(changes: Iterable[Change]) -> list[Level]:
    """Returns the level after each change, in order of time, without earlier allocations."""
    sizes: dict[int, int] = {}
    allocated = 0
    levels = []
    for time_ns, address, size in sorted(changes, key=lambda change: change.time_ns):
        # An address that is allocated again was released in a thread that is not recorded.
        allocated -= sizes.pop(address, 0)
        if size > 0:
            sizes[address] = size
            allocated += size
        levels.append(Level(time_ns, allocated))
    return levels


def above_entry(levels: Iterable[Level], span: Span) -> tuple[int, int]:
    """Returns the largest and the last level of a span, above the level at its begin."""
    entry = peak = last = 0
    for time_ns, allocated in itertools.takewhile(lambda one: one[0] <= span.end_ns, levels):
        last = allocated
        if time_ns < span.begin_ns:
            entry = peak = allocated
        else:
            peak = max(peak, allocated)
    return peak - entry, last - entry


ALLOCATORS: dict[str, ModuleType] = {"cuda": torch.cuda, "xpu": torch.xpu}
"""The caching allocator of each type of device, with the same names of functions."""


class AllocatorReading:
    """The memory that a caching allocator gave away and reserved; set at the context's end."""

    kept_bytes: int

    def __init__(self, allocator: ModuleType, index: int) -> None:
        self._allocated: int = allocator.memory_allocated(index)
        self._reserved: int = allocator.memory_reserved(index)
        self.peak_bytes = self.reserved_bytes = 0

    def raise_to(self, allocated: int, reserved: int) -> None:
        self.peak_bytes = max(self.peak_bytes, allocated - self._allocated)
        self.reserved_bytes = max(self.reserved_bytes, reserved - self._reserved)

    def end(self, allocated: int) -> None:
        self.kept_bytes = allocated - self._allocated


_open: dict[tuple[str, int], list[AllocatorReading]] = {}
"""The readings of the open contexts, by allocator and device."""


@contextmanager
def _measure_allocator(allocator: ModuleType, index: int) -> Iterator[AllocatorReading]:
    """Measures by a caching allocator's peaks, of which a device has one: at each begin and end of
    a context it is passed to all open ones, and reset."""
    readings = _open.setdefault((allocator.__name__, index), [])

    def take_peaks() -> None:
        allocator.synchronize(index)
        peaks = allocator.max_memory_allocated(index), allocator.max_memory_reserved(index)
        for reading in readings:
            reading.raise_to(*peaks)
        allocator.reset_peak_memory_stats(index)

    take_peaks()
    # Blocks that are reserved and free would hide what the calls need.
    allocator.empty_cache()
    allocator.reset_peak_memory_stats(index)
    reading = AllocatorReading(allocator, index)
    readings.append(reading)
    try:
        yield reading
    finally:
        take_peaks()
        reading.end(allocator.memory_allocated(index))
        readings.remove(reading)
