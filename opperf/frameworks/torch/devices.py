"""PyTorch's devices by opperf's names: `gpu(0)` is `cuda:0`."""

from __future__ import annotations

import re

import psutil
import torch

from opperf.errors import DeviceError, UsageError
from opperf.frameworks.base import CPU

NAME = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<inside>\d+)\)|:(?P<after>\d+))?")
"""`gpu`, `gpu(0)`, `cuda:0`."""

KINDS = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda", "mps": "mps", "xpu": "xpu", "meta": "meta"}
"""PyTorch's type of each kind of device that users name."""

SHOWN = {"cuda": "gpu"}
"""opperf's name of a type of device, where it is another."""


def _count(kind: str) -> int:
    """Returns the number of devices of a type."""
    if kind == "cuda":
        return torch.cuda.device_count()
    if kind == "xpu":
        return torch.xpu.device_count()
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    return 1 if kind == "cpu" else 0


def devices() -> tuple[str, ...]:
    """Returns the devices of this build and machine, the CPU first."""
    return tuple(
        f"{SHOWN.get(kind, kind)}({index})"
        for kind in dict.fromkeys(KINDS.values())
        for index in range(_count(kind))
    )


def _split(text: str) -> tuple[str, int]:
    """Returns PyTorch's type and the index of a device. Raises `UsageError` if it is no device's
    name."""
    match = NAME.fullmatch(text.strip().lower())
    if match is None or match["kind"] not in KINDS or match["kind"] == "meta":
        raise UsageError(f"unknown device {text!r}; use one of {', '.join(devices())}")
    return KINDS[match["kind"]], int(match["inside"] or match["after"] or 0)


def parse(text: str) -> str:
    """Returns the canonical name of a device, `gpu(0)` for `cuda`.

    Raises `UsageError` if it is no device's name, and `DeviceError` if this build or machine does
    not have it.
    """
    kind, index = _split(text)
    name = f"{SHOWN.get(kind, kind)}({index})"
    if kind == "cpu":
        return CPU
    if index >= _count(kind):
        known = ", ".join(devices())
        raise DeviceError(
            f"{text}: this build of PyTorch ({torch.__version__}) finds {known} on this machine; "
            "use one of these",
            name,
        )
    return name


def type_of(name: str) -> str:
    """Returns PyTorch's type of a canonical name: `cuda` of `gpu(0)`."""
    return _split(name)[0]


def torch_device(name: str) -> torch.device:
    """Returns PyTorch's object of a canonical name."""
    if name == "meta":
        return torch.device(name)
    kind, index = _split(name)
    return torch.device(kind) if kind == "cpu" else torch.device(kind, index)


def free_memory(device: str) -> int:
    """Returns the number of bytes that can still be allocated on a device."""
    kind, index = _split(device)
    if kind == "cuda":
        free, _ = torch.cuda.mem_get_info(index)
        # The caching allocator reuses what it has reserved.
        return free + torch.cuda.memory_reserved(index) - torch.cuda.memory_allocated(index)
    return int(psutil.virtual_memory().available)


def synchronize(device: str) -> None:
    """Waits until a device's work is done."""
    if device == CPU:
        # Reading the name would take a fifth of the time of the shortest calls.
        return
    kind, index = _split(device)
    if kind == "cuda":
        torch.cuda.synchronize(index)
    elif kind == "xpu":
        torch.xpu.synchronize(index)
    elif kind == "mps":
        torch.mps.synchronize()
