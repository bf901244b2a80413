"""JAX's devices by opperf's names: `gpu(0)` is `gpu:0`, and `cuda:0`, which JAX prints it as."""

from __future__ import annotations

import functools
import re
from typing import Any

import jax
import psutil

from opperf.errors import DeviceError, UsageError

NAME = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<inside>\d+)\)|:(?P<after>\d+))?")
"""`gpu`, `gpu(0)`, `cuda:0`."""

KINDS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}
"""JAX's platform of each kind of device that users name."""


@functools.cache
def _of_kind(kind: str) -> tuple[Any, ...]:
    """Returns the devices of a platform; none if this build or machine has none."""
    try:
        return tuple(jax.local_devices(backend=kind))
    except RuntimeError:
        # JAX's answer for a platform that it does not find.
        return ()


def _by_name() -> dict[str, Any]:
    """Returns JAX's objects of the devices of this build and machine by canonical name, the CPU
    first."""
    return {
        f"{kind}({index})": device
        for kind in dict.fromkeys(KINDS.values())
        for index, device in enumerate(_of_kind(kind))
    }


def devices() -> tuple[str, ...]:
    """Returns the devices of this build and machine, the CPU first."""
    return tuple(_by_name())


def _split(text: str) -> tuple[str, int]:
    """Returns the platform and the index of a device. Raises `UsageError` if it is no device's
    name."""
    match = NAME.fullmatch(text.strip().lower())
    if match is None or match["kind"] not in KINDS:
        raise UsageError(f"unknown device {text!r}; use one of {', '.join(devices())}")
    return KINDS[match["kind"]], int(match["inside"] or match["after"] or 0)


def parse(text: str) -> str:
    """Returns the canonical name of a device, `gpu(0)` for `cuda` and for what JAX prints.

    Raises `UsageError` if it is no device's name, and `DeviceError` if this build or machine does
    not have it.
    """
    printed = next((name for name, one in _by_name().items() if text.strip() == str(one)), "")
    if printed:
        return printed
    kind, index = _split(text)
    name = f"{kind}({index})"
    if index >= len(_of_kind(kind)):
        known = ", ".join(devices())
        raise DeviceError(
            f"{text}: this build of JAX ({jax.__version__}) finds {known} on this machine; use one "
            "of these",
            name,
        )
    return name


PLATFORMS = {"gpu": "cuda"}
"""Platforms whose name among JAX's lowerings is not the device's kind, of builds for NVIDIA."""


def platform_of(name: str) -> str:
    """Returns the platform of a canonical name, as JAX's lowerings name it."""
    device = jax_device(name)
    is_rocm = "rocm" in getattr(device.client, "platform_version", "")
    return "rocm" if is_rocm else PLATFORMS.get(device.platform, device.platform)


@functools.cache
def jax_device(name: str) -> Any:
    """Returns JAX's object of a canonical name."""
    kind, index = _split(name)
    return _of_kind(kind)[index]


def free_memory(device: str) -> int:
    """Returns the number of bytes that can still be allocated on a device."""
    stats = jax_device(device).memory_stats() or {}
    if "bytes_limit" in stats:
        return int(stats["bytes_limit"] - stats["bytes_in_use"])
    return int(psutil.virtual_memory().available)
