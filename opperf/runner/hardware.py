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


def gpus(library: Any = None) -> tuple[dict[str, str], ...]:
    """Returns, for each GPU: model, driver, CUDA version of the driver, memory in bytes, maximum
    clocks of its processors and its memory in MHz. Empty without NVIDIA's library."""
    nvml = library or nvidia_library()
    if nvml is None:
        return ()
    driver = _text(nvml.nvmlSystemGetDriverVersion())
    cuda = nvml.nvmlSystemGetCudaDriverVersion()
    found = []
    for index in range(nvml.nvmlDeviceGetCount()):
        device = nvml.nvmlDeviceGetHandleByIndex(index)
        found.append(
            {
                "model": _text(nvml.nvmlDeviceGetName(device)),
                "driver": driver,
                "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}",
                "memory_bytes": str(nvml.nvmlDeviceGetMemoryInfo(device).total),
                "clock_mhz": str(nvml.nvmlDeviceGetMaxClockInfo(device, nvml.NVML_CLOCK_SM)),
                "memory_clock_mhz": str(
                    nvml.nvmlDeviceGetMaxClockInfo(device, nvml.NVML_CLOCK_MEM)
                ),
            }
        )
    return tuple(found)


def _text(value: str | bytes) -> str:
    """Returns text: older versions of the library return bytes."""
    return value.decode() if isinstance(value, bytes) else value
