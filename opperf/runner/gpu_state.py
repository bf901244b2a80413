"""Clock, temperature and throttling of the GPU that a case uses, read from NVIDIA's library."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from opperf.model import GpuState, Note, NoteCode
from opperf.runner.hardware import nvidia_library, read_fact

IDLE = 0x1
"""Bit of a GPU that lowers its clocks because nothing runs on it."""

REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x200: "board limit",
}
"""Bits of NVML's `nvmlClocksEventReasons` for clocks that power or heat lowers. The others are not
throttling: idleness, clocks that a user or a display has set, those of other GPUs of a group, and
the voltage that bounds the highest clock."""

EVERY_S = 0.25
"""Seconds between two readings during a case. Most cases take up to a second, and have a few; each
is three calls of the driver, which disturb few of the case's calls, and not its median."""


class Reading(NamedTuple):
    """State of a GPU at a moment. None for what cannot be read."""

    clock_mhz: int | None
    """Clock of its processors (SM)."""
    temperature_c: int | None
    bits: int = 0
    """Why its clocks are lowered, as NVML's bits; 0 if that cannot be read."""

    @property
    def is_idle(self) -> bool:
        return bool(self.bits & IDLE)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons in words. An idle GPU has none: its clocks matter to no call."""
        if self.is_idle:
            return ()
        return tuple(name for bit, name in REASONS.items() if self.bits & bit)


class Gpu:
    """A GPU, by its handle in NVIDIA's library."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle

    def read(self) -> Reading:
        """Returns its state now."""
        bits = read_fact(self._nvml, "nvmlDeviceGetCurrentClocksEventReasons", self._handle)
        if bits is None:
            # The same by its name in drivers before 535.
            bits = read_fact(self._nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", self._handle)
        return Reading(
            read_fact(self._nvml, "nvmlDeviceGetClockInfo", self._handle, self._nvml.NVML_CLOCK_SM),
            read_fact(
                self._nvml,
                "nvmlDeviceGetTemperature",
                self._handle,
                self._nvml.NVML_TEMPERATURE_GPU,
            ),
            bits or 0,
        )


@functools.cache
def find_gpu(uuid: str) -> Gpu | None:
    """Returns the GPU with a UUID; None if it is empty, or if NVIDIA's library is missing or does
    not know it."""
    nvml = nvidia_library() if uuid else None
    if nvml is None:
        return None
    handle = read_fact(nvml, "nvmlDeviceGetHandleByUUID", uuid)
    return None if handle is None else Gpu(nvml, handle)


@contextmanager
def watch(gpu: Gpu | None) -> Iterator[list[Reading]]:
    """Reads the state of a GPU at the begin and the end of the context, and every `EVERY_S`
    seconds between them. The list that it yields is complete after its end, and empty without a
    GPU."""
    readings: list[Reading] = []
    if gpu is None:
        yield readings
        return
    ended = threading.Event()

    def read_until_end() -> None:
        while not ended.wait(EVERY_S):
            readings.append(gpu.read())

    readings.append(gpu.read())
    thread = threading.Thread(target=read_until_end, name="opperf-gpu-state", daemon=True)
    thread.start()
    try:
        yield readings
    finally:
        ended.set()
        thread.join()
        readings.append(gpu.read())


def state_of(readings: Sequence[Reading]) -> GpuState | None:
    """Returns the state by some readings; None without any."""
    if not readings:
        return None
    # The GPU may be idle before the first call, and its clocks then say nothing about the calls.
    busy = [one for one in readings if not one.is_idle] or readings
    clocks = [one.clock_mhz for one in busy if one.clock_mhz is not None]
    temperatures = [one.temperature_c for one in readings if one.temperature_c is not None]
    return GpuState(
        readings=len(readings),
        throttled=sum(bool(one.reasons) for one in readings),
        reasons=tuple(sorted({reason for one in readings for reason in one.reasons})),
        lowest_mhz=min(clocks, default=None),
        highest_mhz=max(clocks, default=None),
        temperature_c=max(temperatures, default=None),
    )


def throttling_note(device: str, state: GpuState) -> Note | None:
    """Returns a note on a GPU that lowered its clocks; None if it did not."""
    if not state.throttled:
        return None
    text = (
        f"{device} lowered its clocks at {state.throttled} of {state.readings} readings "
        f"({', '.join(state.reasons)})"
    )
    if state.lowest_mhz is not None:
        text += f": {state.lowest_mhz} to {state.highest_mhz} MHz"
    if state.temperature_c is not None:
        text += f", up to {state.temperature_c} °C"
    return Note("", NoteCode.THROTTLED, text)
