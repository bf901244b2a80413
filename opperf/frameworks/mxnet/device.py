"""MXNet's devices: names, availability, free memory."""

from __future__ import annotations

import re
from typing import Any

import mxnet as mx
import psutil

from opperf.errors import DeviceError, UsageError

DEVICE = re.compile(r"^(cpu|gpu)(?:\((\d+)\))?$")


def has_cuda() -> bool:
    """Whether this build has CUDA."""
    return bool(mx.runtime.Features().is_enabled("CUDA"))


def gpu_count() -> int:
    """Returns the number of GPUs this build and machine can use."""
    return int(mx.context.num_gpus()) if has_cuda() else 0


def devices() -> tuple[str, ...]:
    """Returns the devices of this build and machine, the default one first."""
    return (*(f"gpu({i})" for i in range(gpu_count())), "cpu(0)")


def parse(text: str) -> str:
    """Returns the canonical name of a device. Raises as `Core.parse_device`."""
    match = DEVICE.match(text.strip().lower())
    if match is None:
        raise UsageError(f"unknown device {text!r}; use cpu, cpu(0), gpu, gpu(0), gpu(1) ...")
    kind, index = match.group(1), int(match.group(2) or 0)
    if kind == "gpu":
        if not has_cuda():
            raise DeviceError(
                f"{text}: this MXNet build ({mx.__version__}) has no CUDA; install one that has it "
                "(for example pip install mxnet-cu112, with --pre for 2.0) or use --ctx cpu",
                f"{kind}({index})",
            )
        count = gpu_count()
        if index >= count:
            there = ", ".join(f"gpu({i})" for i in range(count)) or "no GPU"
            raise DeviceError(
                f"{text}: this machine has {there}; choose one of them or cpu", f"{kind}({index})"
            )
    return f"{kind}({index})"


def context(device: str) -> Any:
    """Returns MXNet's context of a canonical device name."""
    match = DEVICE.match(device)
    if match is None:
        raise UsageError(f"unknown device {device!r}; use cpu(0), gpu(0), gpu(1) ...")
    return mx.Context(match.group(1), int(match.group(2) or 0))


def free_memory(device: str) -> int:
    """Returns the bytes that can still be allocated on the device."""
    if device.startswith("gpu"):
        free, _ = mx.context.gpu_memory_info(context(device).device_id)
        return int(free)
    return int(psutil.virtual_memory().available)
