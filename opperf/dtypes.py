"""The table of dtypes. It imports no array library, so that commands that only plan, list or print
can read it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["float", "integer", "bool", "complex", "date", "text"]


class Dtype(NamedTuple):
    """One element type of tensors."""

    name: str
    bytes: int
    kind: Kind
    short: str
    """The abbreviation that compilers and papers use."""
    aliases: tuple[str, ...] = ()
    signed: bool = True


DTYPES: dict[str, Dtype] = {
    dtype.name: dtype
    for dtype in (
        Dtype("float16", 2, "float", "f16", ("half", "fp16")),
        Dtype("float32", 4, "float", "f32", ("single", "fp32")),
        Dtype("float64", 8, "float", "f64", ("double", "fp64")),
        Dtype("bfloat16", 2, "float", "bf16"),
        Dtype("float8_e4m3fn", 1, "float", "f8e4m3fn", ("fp8_e4m3",)),
        Dtype("float8_e5m2", 1, "float", "f8e5m2", ("fp8_e5m2",)),
        Dtype("float8_e4m3fnuz", 1, "float", "f8e4m3fnuz"),
        Dtype("float8_e5m2fnuz", 1, "float", "f8e5m2fnuz"),
        Dtype("float8_e3m4", 1, "float", "f8e3m4"),
        Dtype("float8_e4m3", 1, "float", "f8e4m3"),
        Dtype("float8_e4m3b11fnuz", 1, "float", "f8e4m3b11fnuz"),
        Dtype("float8_e8m0fnu", 1, "float", "f8e8m0fnu", signed=False),
        Dtype("float4_e2m1fn", 1, "float", "f4e2m1fn"),
        # Two numbers in a byte.
        Dtype("float4_e2m1fn_x2", 1, "float", "f4e2m1fnx2"),
        # Of fewer bits than a byte, and alone in one.
        Dtype("int2", 1, "integer", "i2"),
        Dtype("uint2", 1, "integer", "u2", signed=False),
        Dtype("int4", 1, "integer", "i4"),
        Dtype("uint4", 1, "integer", "u4", signed=False),
        Dtype("int8", 1, "integer", "i8"),
        Dtype("uint8", 1, "integer", "u8", signed=False),
        Dtype("int16", 2, "integer", "i16"),
        Dtype("uint16", 2, "integer", "u16", signed=False),
        Dtype("int32", 4, "integer", "i32"),
        Dtype("uint32", 4, "integer", "u32", signed=False),
        Dtype("int64", 8, "integer", "i64"),
        Dtype("uint64", 8, "integer", "u64", signed=False),
        Dtype("bool", 1, "bool", "b1", signed=False),
        Dtype("complex32", 4, "complex", "c32", ("chalf",)),
        Dtype("complex64", 8, "complex", "c64"),
        Dtype("complex128", 16, "complex", "c128"),
        Dtype("datetime64[D]", 8, "date", "date"),
        # NumPy's texts of at most 16 and 128 characters, of 16 bytes, and of any length, which are
        # beside the array if longer than 15 bytes.
        Dtype("<U16", 64, "text", "<u16"),
        Dtype("<U128", 512, "text", "<u128"),
        Dtype("S16", 16, "text", "s16"),
        Dtype("T", 16, "text", "t"),
    )
}

PYTORCH_NAMES: dict[str, str] = {
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
"""Names that PyTorch and its tools have for dtypes beside those of the table."""

HALF_PRECISION = tuple(
    dtype.name for dtype in DTYPES.values() if dtype.kind == "float" and dtype.bytes < 4
)
"""Floating-point dtypes for which layers keep some of their parameters in single precision."""

USUAL_BYTES = 4
"""Bytes of an element whose dtype is not in the table: as many as float32 and int32 have."""

_NAMES = {
    alias: dtype.name
    for dtype in DTYPES.values()
    for alias in (dtype.name, dtype.short, *dtype.aliases)
}


def canonical(name: str) -> str:
    """Returns the table's name of a dtype; an unknown one in lower case."""
    return _NAMES.get(name.lower(), name.lower())


def element_bytes(name: str) -> int:
    """Returns the bytes of an element; `USUAL_BYTES` if the dtype is not in the table."""
    return DTYPES[name].bytes if name in DTYPES else USUAL_BYTES


def kind_of(name: str) -> Kind | None:
    """Returns the kind of a dtype; None if it is not in the table."""
    return DTYPES[name].kind if name in DTYPES else None


def is_floating(name: str) -> bool:
    """Whether a dtype is floating-point, and so may have a gradient."""
    return kind_of(name) == "float"


def is_integer(name: str) -> bool:
    """Whether a dtype holds integers or booleans."""
    return kind_of(name) in ("integer", "bool")
