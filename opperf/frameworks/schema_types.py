"""The types of PyTorch's schemas that traces write as integers: dtypes, layouts, memory formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opperf.model import Argument, DType, MemoryFormat

SCALAR_TYPES: Mapping[int, str] = dict(
    enumerate(
        (
            *("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
            *("complex32", "complex64", "complex128", "bool", "qint8", "quint8", "qint32"),
            *("bfloat16", "quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8"),
            *("bits16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz"),
            *("uint16", "uint32", "uint64"),
        )
    )
)
"""Dtypes by their numbers (c10/core/ScalarType.h)."""

MEMORY_FORMATS: Mapping[int, str] = {
    0: "contiguous",
    1: "preserve",
    2: "channels_last",
    3: "channels_last_3d",
}
"""Memory formats by their numbers (c10/core/MemoryFormat.h)."""

LAYOUTS: Mapping[int, str] = {0: "strided"}
"""The layouts that can be made without further arguments (c10/core/Layout.h)."""

NUMBERED: Mapping[str, tuple[Mapping[int, str], Callable[[str], Argument], str]] = {
    "ScalarType": (SCALAR_TYPES, DType, "dtype"),
    "MemoryFormat": (MEMORY_FORMATS, MemoryFormat, "memory format"),
    "Layout": (LAYOUTS, str, "layout"),
}
"""By the declared type: names by number, what makes an argument of one, and its word."""


def as_declared(value: Argument, declared: str) -> Argument:
    """Returns an integer as what the schema declares it to be; any other value as it is. The usual
    layout is none where it is optional. Raises `ValueError`."""
    found = NUMBERED.get(declared.rstrip("?"))
    if found is None or isinstance(value, bool) or not isinstance(value, int):
        return value
    names, make, word = found
    if value not in names:
        raise ValueError(f"a {word} of the number {value}")
    if names is LAYOUTS and declared.endswith("?"):
        return None
    return make(names[value])
