"""PyTorch's dtypes by opperf's names, which are PyTorch's own."""

from __future__ import annotations

import torch

from opperf.errors import UnsupportedError

DTYPES = tuple(
    name
    for name in (
        *("float32", "float64", "float16", "bfloat16"),
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("bool", "complex64", "complex128", "complex32", "quint8", "qint8", "qint32"),
    )
    if hasattr(torch, name)
)
"""The dtypes of this build."""


def dtype_of(name: str) -> torch.dtype:
    """Returns the dtype of a name. Raises `UnsupportedError` if this build has none."""
    if name not in DTYPES:
        raise UnsupportedError(f"PyTorch {torch.__version__} has no dtype {name}")
    found: torch.dtype = getattr(torch, name)
    return found


def name_of(dtype: torch.dtype) -> str:
    """Returns the name of a dtype."""
    return str(dtype).removeprefix("torch.")
