"""JAX's devices and dtypes by opperf's names: `gpu(0)` is `gpu:0`, which JAX prints as `cuda:0`."""

from __future__ import annotations

import functools
import re
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import psutil

from opperf.errors import DeviceError, UnsupportedError, UsageError
from opperf.frameworks.jax import WIDE, private

NAME = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<inside>\d+)\)|:(?P<after>\d+))?")
"""`gpu`, `gpu(0)`, `cuda:0`."""

KINDS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}


@functools.cache
def _of_kind(kind: str) -> tuple[Any, ...]:
    try:
        return tuple(jax.local_devices(backend=kind))
    except RuntimeError:
        # JAX's answer for a platform that it does not find.
        return ()


def _by_name() -> dict[str, Any]:
    return {
        f"{kind}({index})": device
        for kind in dict.fromkeys(KINDS.values())
        for index, device in enumerate(_of_kind(kind))
    }


def devices() -> tuple[str, ...]:
    """Returns the devices of this build and machine, the CPU first."""
    return tuple(_by_name())


def _split(text: str) -> tuple[str, int]:
    match = NAME.fullmatch(text.strip().lower())
    if match is None or match["kind"] not in KINDS:
        raise UsageError(f"unknown device {text!r}; use one of {', '.join(devices())}")
    return KINDS[match["kind"]], int(match["inside"] or match["after"] or 0)


def parse(text: str) -> str:
    """Returns the canonical name of a device. Raises as `Core.parse_device`."""
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


DTYPES = (
    *("float32", "float16", "bfloat16"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
    *("int2", "uint2", "int4", "uint4"),
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "bool", "complex64", *WIDE),
)

NARROWED = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""The dtype that JAX makes of one without its option for 64 bits."""


def has_wide() -> bool:
    """Whether JAX's option for 64 bits is set."""
    return bool(private.options()["jax_enable_x64"])


def wide(enabled: bool) -> AbstractContextManager[None]:
    """Returns a context with JAX's option for 64 bits set or not."""
    context: AbstractContextManager[None] = private.ENABLE_X64.get()(enabled)
    return context


KEYS = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}
"""Implementations of random numbers by the dtypes of their keys."""


def dtype_of(name: str) -> Any:
    """Returns the dtype of a name, with the options that are set. Raises `UnsupportedError`."""
    if name in KEYS:
        return jax.random.key(0, impl=KEYS[name]).dtype
    name = name if has_wide() else NARROWED.get(name, name)
    try:
        return jnp.dtype(name)
    except TypeError as error:
        raise UnsupportedError(f"JAX has no dtype {name}") from error
