"""Facts about the processor's caches and the GPUs, as the kernel and NVIDIA's library have them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux describes the caches of the first core, which those of most machines are like."""


def cpu_caches(folder: Path = CACHES) -> dict[str, str]:
    """Sizes as the kernel prints them, by level: `L1d`, `L1i`, `L2`, `L3`; empty where it does not
    say."""
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
    """NVIDIA's management library (nvidia-ml-py), started; None where there is none, or no
    driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:
        # Without the package or a driver there is nothing to say of GPUs.
        return None
    return pynvml


def gpus(library: Any = None) -> tuple[dict[str, str], ...]:
    """Of each GPU: model, driver, CUDA version of the driver, memory in bytes, largest clocks of
    its processors and of its memory in MHz. Empty where NVIDIA's library is not."""
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
    """Older versions of the library answer in bytes."""
    return value.decode() if isinstance(value, bytes) else value
