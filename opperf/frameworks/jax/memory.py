"""The memory that calls allocate on a device: of a compiled call what XLA planned, its results and
temporaries less the results that take the place of an argument. Not planned, and not seen, is what
libraries allocate themselves, as LAPACK and Eigen do. Where the device's allocator has a peak of
its own and the calls raised it, that counts too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax

from opperf.errors import UnsupportedError
from opperf.frameworks.jax.devices import jax_device

EAGER = "JAX shows the memory of compiled calls only; use --mode jit"


class Reading:
    """The memory allocated inside a context; set at its end."""

    reserved_bytes: int | None = None

    def __init__(self, device: str) -> None:
        self._device = jax_device(device)
        self._level = live_bytes(self._device)
        self._begin = _counters(self._device)
        self.peak_bytes = self.kept_bytes = 0

    def raise_to(self, level: int) -> None:
        self.peak_bytes = max(self.peak_bytes, level - self._level)

    def add_argument(self, size: int) -> None:
        self._level += size

    def live_bytes(self) -> int:
        return live_bytes(self._device)

    def end(self) -> None:
        level = self.live_bytes()
        self.kept_bytes = level - self._level
        self.raise_to(level)
        end = _counters(self._device)
        if end.get("peak_bytes_in_use", 0) > self._begin.get("peak_bytes_in_use", 0):
            counted = end["peak_bytes_in_use"] - self._begin["bytes_in_use"]
            self.peak_bytes = max(self.peak_bytes, counted)


def _counters(device: Any) -> Mapping[str, int]:
    return device.memory_stats() or {}


def live_bytes(device: Any) -> int:
    """Returns the bytes of all arrays on a device, each piece of memory once."""
    sizes: dict[int, int] = {}
    for array in jax.live_arrays():
        if array.is_deleted():
            continue
        for shard in array.addressable_shards:
            if shard.device == device:
                sizes[shard.data.unsafe_buffer_pointer()] = shard.data.on_device_size_in_bytes()
    return sum(sizes.values())


open_readings: list[Reading] = []
"""Those of open contexts, at which each timed call looks: a function would take as long again."""


def add_argument(size: int) -> None:
    """Counts a new array of that many bytes as an argument, which is no part of a peak."""
    for reading in open_readings:
        reading.add_argument(size)


def run(compiled: Any, arrays: Sequence[Any]) -> Any:
    """Returns a compiled call's results, and adds its memory. Raises `UnsupportedError`."""
    planned = compiled.memory_analysis()
    if planned is None:
        raise UnsupportedError("this backend of XLA does not show the memory of a program")
    own = planned.output_size_in_bytes + planned.temp_size_in_bytes - planned.alias_size_in_bytes
    for reading in open_readings:
        reading.raise_to(reading.live_bytes() + own)
    return jax.block_until_ready(compiled(*arrays))


@contextmanager
def measure(device: str) -> Iterator[Reading]:
    """Measures the memory of compiled calls inside the context. Contexts may be nested."""
    reading = Reading(device)
    open_readings.append(reading)
    try:
        yield reading
    finally:
        open_readings.remove(reading)
    reading.end()
