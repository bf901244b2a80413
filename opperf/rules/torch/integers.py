"""Inputs of operators on integers, in the dtypes and ranges that programs have: identifiers of
64 bits, signed hashes, packed bytes, masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Argument, Fill, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import vector
from opperf.rules.sizes import Preset
from opperf.rules.torch.tables import Variants, configurations_of
from opperf.rules.values import PADDED, Arguments, below, fixed

FAMILIES = Families()

WIDE, BYTE = "int64", "uint8"

HALF = 20
"""Bits of one of two indices that are packed into a number: a million of each."""

IDENTIFIERS = below(1 << 2 * HALF)
"""Such pairs, or identifiers of users and articles: too large for 32 bits."""
HASHES = below(1 << 31, start=-(1 << 31))
BUCKETS = 100_000
"""Rows of a hashed table of embeddings."""
NIBBLE = 4
"""Bits of a quantised weight, of which a byte has two."""
LABELS = below(10)
"""Classes, few enough that predictions often hit them."""


def numbers(size: Preset, fill: Fill, dtype: str = WIDE) -> TensorSpec:
    """A long vector of integers."""
    return fixed(*vector(size), fill=fill, dtype=dtype)


def one(fill: Fill, why: str, dtype: str = WIDE, **others: Argument) -> Variants:
    """The configuration of an operator of one vector, and of plain values."""
    return lambda size: [{"self": numbers(size, fill, dtype), **others, WHY: why}]


def two(left: Fill, right: Fill, why: str) -> Variants:
    """The configuration of an operator of two vectors."""
    return lambda size: [{"self": numbers(size, left), "other": numbers(size, right), WHY: why}]


def positions(size: Preset) -> Iterable[Arguments]:
    """The mask of a batch of long texts."""
    mask = fixed(size.batch, size.extent(4096), fill=PADDED, dtype=WIDE)
    yield {"self": mask, "dim": 1, WHY: "a mask of padding in int64, summed to tokens' positions"}


def fields(operator: str, wide: int, byte: int, whys: tuple[str, str]) -> dict[str, Variants]:
    """The configurations of an operator that takes one of two packed numbers."""
    return {
        operator: lambda size: [
            {"self": numbers(size, IDENTIFIERS), "other": wide, WHY: whys[0]},
            {"self": numbers(size, below(256), BYTE), "other": byte, WHY: whys[1]},
        ]
    }


ROWS: Mapping[str, Variants] = {
    **fields(
        "bitwise_and.Scalar",
        (1 << HALF) - 1,
        (1 << NIBBLE) - 1,
        ("the second of two indices in each int64", "the lower of two 4-bit weights in each byte"),
    ),
    **fields(
        "bitwise_right_shift.Tensor_Scalar",
        HALF,
        NIBBLE,
        ("the first of two indices in each int64", "the upper of two 4-bit weights in each byte"),
    ),
    "bitwise_xor.Tensor": two(IDENTIFIERS, IDENTIFIERS, "two hashes of 64 bits mixed"),
    "cumsum.default": positions,
    "eq.Tensor": two(LABELS, LABELS, "predicted classes and labels in int64, as of an accuracy"),
    "floor_divide.Scalar": one(below(1 << HALF), "flat indices in int64 to their rows", other=1024),
    "gcd.default": two(
        below(1 << 31, start=1),
        below(1 << 31, start=1),
        "large numerators and denominators in int64: more steps than small ones",
    ),
    "remainder.Scalar": one(
        IDENTIFIERS, "identifiers in int64 to rows of a hashed table", other=BUCKETS
    ),
    "remainder.Tensor": two(
        HASHES, below(BUCKETS, start=1), "signed hashes in int64, each to a table of its own"
    ),
    **{
        f"{name}.default": one(IDENTIFIERS, "identifiers in int64, as to group their rows")
        for name in ("argsort", "sort")
    },
}
"""Configurations by overload."""


@FAMILIES.also(*ROWS)
def integers(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The configurations of an overload in `ROWS`."""
    return configurations_of(ROWS, operator, size)
