"""Facts about the processor's caches, from the kernel, and about GPUs, from NVIDIA's library."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux describes the caches of the first core; on most machines all cores have the same."""


def cpu_caches(folder: Path = CACHES) -> dict[str, str]:
    """Returns sizes as the kernel prints them, by level: `L1d`, `L1i`, `L2`, `L3`; empty if it does
    not report them."""
    found = {}
    for place in sorted(folder.glob("index*")):
        with contextlib.suppress(OSError):
            level, kind, size = (
                (place / name).read_text().strip() for name in ("level", "type", "size")
            )
            suffix = {"Data": "d", "Instruction": "i"}.get(kind, "")
            found[f"L{level}{suffix}"] = size
    return found


def nvidia_library() -> Any:
    """Returns NVIDIA's management library (nvidia-ml-py), initialised; None without the library or
    a driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:
        # Without the package or a driver there are no facts about GPUs.
        return None
    return pynvml


def read_fact(nvml: Any, name: str, *arguments: Any) -> Any:
    """Returns what a function of NVIDIA's library returns; None if the library, the driver or the
    GPU does not support it."""
    # Older versions of the package have fewer functions.
    function = getattr(nvml, name, None)
    if function is None:
        return None
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def gpus(library: Any = None) -> tuple[dict[str, str], ...]:
    """Returns, for each GPU: model, driver, CUDA version of the driver, memory in bytes, maximum
    clocks of its processors and its memory in MHz; without those that it does not report, as a part
    of a GPU does not. Empty without NVIDIA's library."""
    nvml = library or nvidia_library()
    if nvml is None:
        return ()
    driver = read_fact(nvml, "nvmlSystemGetDriverVersion")
    cuda = read_fact(nvml, "nvmlSystemGetCudaDriverVersion")
    found = []
    for index in range(read_fact(nvml, "nvmlDeviceGetCount") or 0):
        device = read_fact(nvml, "nvmlDeviceGetHandleByIndex", index)
        if device is None:
            continue
        memory = read_fact(nvml, "nvmlDeviceGetMemoryInfo", device)
        facts = {
            "model": read_fact(nvml, "nvmlDeviceGetName", device),
            "driver": driver,
            "cuda": None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
            "memory_bytes": None if memory is None else memory.total,
            "clock_mhz": read_fact(nvml, MAX_CLOCK, device, nvml.NVML_CLOCK_SM),
            "memory_clock_mhz": read_fact(nvml, MAX_CLOCK, device, nvml.NVML_CLOCK_MEM),
        }
        found.append({name: _text(fact) for name, fact in facts.items() if fact is not None})
    return tuple(found)


MAX_CLOCK = "nvmlDeviceGetMaxClockInfo"


def _text(value: Any) -> str:
    """Returns text: older versions of the library return bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)
