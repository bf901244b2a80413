"""Probe of the clocks of NVIDIA's GPUs."""

from __future__ import annotations

from opperf.installing import install_command
from opperf.runner.gpu_state import Gpu
from opperf.runner.hardware import nvidia_library, read_fact
from opperf.runner.health.finding import Probe, Reading
from opperf.runner.health.machine import Machine, Unreadable

DRIVER = "driver/nvidia/version"
"""File of procfs that NVIDIA's driver makes."""

EXTRA = "opperf[gpu]"


def gpu_clocks(machine: Machine) -> Reading:
    """Reads clocks and temperatures of all GPUs, and why their clocks are lowered."""
    if not (machine.proc / DRIVER).exists():
        return Reading("no NVIDIA driver")
    nvml = nvidia_library()
    if nvml is None:
        command = install_command(EXTRA)
        raise Unreadable(f"{command} reads clocks, throttling and temperature, also during runs")
    handles = (
        read_fact(nvml, "nvmlDeviceGetHandleByIndex", index)
        for index in range(read_fact(nvml, "nvmlDeviceGetCount") or 0)
    )
    found = [Gpu(nvml, handle).read() for handle in handles if handle is not None]
    if not found:
        raise Unreadable("NVIDIA's library finds no GPU that this user may read")
    states = []
    for one in found:
        figures = [
            *([] if one.clock_mhz is None else [f"{one.clock_mhz} MHz"]),
            *([] if one.temperature_c is None else [f"{one.temperature_c} °C"]),
            *(["idle"] if one.is_idle else one.reasons),
        ]
        states.append(", ".join(figures) or "nothing reported")
    lowered = any(one.reasons for one in found)
    return Reading("; ".join(states), "warn" if lowered else "ok")


PROBES = (
    Probe(
        "gpu_clocks",
        gpu_clocks,
        "A GPU that is hot, or at its power limit, lowers its clocks, and all kernels take longer; "
        "a run notes the cases for which it did.",
        persistence="transient",
    ),
)
