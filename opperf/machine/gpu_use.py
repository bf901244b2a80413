"""Use of NVIDIA's GPUs at a moment: load, memory, temperature, power, clock and energy."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opperf.machine.gpus import nvidia_library, read_fact

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
"""Environment variable of CUDA with the GPUs that a process sees, by index or UUID."""

UUID_BEGINS = ("GPU-", "MIG-")

MILLI = 1e-3


class GpuUse(NamedTuple):
    """Use of a GPU at a moment. None for what cannot be read."""

    name: str
    """Its index on the machine."""
    load: float | None
    """Share of the last moments in which a kernel ran."""
    used_bytes: int | None
    total_bytes: int | None
    temperature_c: float | None
    power_w: float | None
    clock_mhz: float | None
    energy_j: float | None
    """Since the driver was loaded."""


@functools.cache
def gpu_names() -> tuple[str, ...]:
    """Returns the indices of the machine's GPUs; none without NVIDIA's library or a driver."""
    nvml = nvidia_library()
    if nvml is None:
        return ()
    return tuple(map(str, range(read_fact(nvml, "nvmlDeviceGetCount") or 0)))


DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Devices of the drivers of NVIDIA, of AMD, and of both on Windows."""


def has_driver() -> bool:
    """Returns whether the machine has a driver of GPUs, without which none works."""
    return bool(gpu_names()) or any(map(os.path.exists, DRIVERS))


def visible_gpus(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the GPUs, by index or UUID, that a process with these environment variables sees: all
    of them, or those that are listed before any other word, as CUDA reads `-1` and `NoDevFiles`."""
    listed = variables.get(VISIBLE_DEVICES)
    if listed is None:
        return gpu_names()
    return tuple(itertools.takewhile(_is_gpu, map(str.strip, listed.split(","))))


def _is_gpu(name: str) -> bool:
    return name.isdecimal() or name.startswith(UUID_BEGINS)


class GpuMeter:
    """Reads the use of GPUs, by index or UUID; of those alone that NVIDIA's library knows."""

    def __init__(self, names: Sequence[str]) -> None:
        self._nvml = nvidia_library() if names else None
        handles = {name: self._handle(name) for name in names}
        self._handles = {name: handle for name, handle in handles.items() if handle is not None}

    def _handle(self, name: str) -> Any:
        if self._nvml is None:
            return None
        if name.isdecimal():
            return read_fact(self._nvml, "nvmlDeviceGetHandleByIndex", int(name))
        return read_fact(self._nvml, "nvmlDeviceGetHandleByUUID", name)

    def read(self) -> list[GpuUse]:
        return [self._read(name, handle) for name, handle in self._handles.items()]

    def _read(self, name: str, handle: Any) -> GpuUse:
        nvml: Any = self._nvml
        rates = read_fact(nvml, "nvmlDeviceGetUtilizationRates", handle)
        memory = read_fact(nvml, "nvmlDeviceGetMemoryInfo", handle)
        power = read_fact(nvml, "nvmlDeviceGetPowerUsage", handle)
        energy = read_fact(nvml, "nvmlDeviceGetTotalEnergyConsumption", handle)
        return GpuUse(
            name,
            None if rates is None else rates.gpu / 100,
            None if memory is None else int(memory.used),
            None if memory is None else int(memory.total),
            read_fact(nvml, "nvmlDeviceGetTemperature", handle, nvml.NVML_TEMPERATURE_GPU),
            None if power is None else power * MILLI,
            read_fact(nvml, "nvmlDeviceGetClockInfo", handle, nvml.NVML_CLOCK_SM),
            None if energy is None else energy * MILLI,
        )
