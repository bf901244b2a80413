"""JAX's dtypes, by opperf's names, which are the same."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import jax.numpy as jnp

from opperf.errors import UnsupportedError
from opperf.frameworks.jax import WIDE, private

DTYPES = (
    *("float32", "float16", "bfloat16"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "bool", "complex64", *WIDE),
)
"""Supported dtypes."""

NARROWED = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""The dtype that JAX makes of one without its option for 64 bits."""


def has_wide() -> bool:
    """Whether JAX's option for 64 bits is set."""
    return bool(private.options()["jax_enable_x64"])


def wide(enabled: bool) -> AbstractContextManager[None]:
    """Returns a context with JAX's option for 64 bits set or not."""
    context: AbstractContextManager[None] = private.ENABLE_X64.get()(enabled)
    return context


def dtype_of(name: str) -> Any:
    """Returns the dtype of a name, as JAX has it with the options that are set. Raises
    `UnsupportedError`."""
    name = name if has_wide() else NARROWED.get(name, name)
    try:
        return jnp.dtype(name)
    except TypeError as error:
        raise UnsupportedError(f"JAX has no dtype {name}") from error
