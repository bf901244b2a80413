"""Dtypes by name: the bytes of an element, its kind, and what each is called for short.

The one table of them. It imports nothing, so that what plans, lists or prints can read it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["float", "integer", "bool", "complex", "date"]


class Dtype(NamedTuple):
    """One type of the elements of a tensor."""

    name: str
    bytes: int
    """Of one element."""
    kind: Kind
    short: str
    """The name as compilers and papers print it."""
    aliases: tuple[str, ...] = ()
    """Other names that users write for it."""
    signed: bool = True


DTYPES: dict[str, Dtype] = {
    one.name: one
    for one in (
        Dtype("float16", 2, "float", "f16", ("half", "fp16")),
        Dtype("float32", 4, "float", "f32", ("single", "fp32")),
        Dtype("float64", 8, "float", "f64", ("double", "fp64")),
        Dtype("bfloat16", 2, "float", "bf16"),
        Dtype("int8", 1, "integer", "i8"),
        Dtype("uint8", 1, "integer", "u8", signed=False),
        Dtype("int16", 2, "integer", "i16"),
        Dtype("uint16", 2, "integer", "u16", signed=False),
        Dtype("int32", 4, "integer", "i32"),
        Dtype("uint32", 4, "integer", "u32", signed=False),
        Dtype("int64", 8, "integer", "i64"),
        Dtype("uint64", 8, "integer", "u64", signed=False),
        Dtype("bool", 1, "bool", "b1", signed=False),
        Dtype("complex64", 8, "complex", "c64"),
        Dtype("complex128", 16, "complex", "c128"),
        Dtype("datetime64[D]", 8, "date", "date"),
    )
}
"""Every dtype that a framework, a rule or a user may ask for."""

HALF_PRECISION = tuple(one.name for one in DTYPES.values() if one.kind == "float" and one.bytes < 4)
"""Floating dtypes beside which layers keep some of their parameters in single precision."""

USUAL_BYTES = 4
"""Of an element whose dtype is not in the table: that of float32 and int32."""

_NAMES = {
    alias: one.name for one in DTYPES.values() for alias in (one.name, one.short, *one.aliases)
}


def canonical(name: str) -> str:
    """The table's name of a dtype in upper or lower case, or of its short form or another alias;
    an unknown name in lower case, for a framework may have it."""
    return _NAMES.get(name.lower(), name.lower())


def element_bytes(name: str) -> int:
    """Bytes of an element; `USUAL_BYTES` where the dtype is not in the table."""
    return DTYPES[name].bytes if name in DTYPES else USUAL_BYTES


def kind_of(name: str) -> Kind | None:
    """The kind of a dtype; None where it is not in the table."""
    return DTYPES[name].kind if name in DTYPES else None


def is_floating(name: str) -> bool:
    """Whether a dtype holds real numbers, and so may have a gradient."""
    return kind_of(name) == "float"


def is_whole(name: str) -> bool:
    """Whether a dtype holds whole numbers only, truths among them."""
    return kind_of(name) in ("integer", "bool")
