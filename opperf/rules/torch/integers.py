"""Inputs of operators on integers, in the dtypes and ranges that programs have: identifiers of
64 bits, signed hashes, packed bytes, masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opperf.model import Argument, Fill, TensorSpec
from opperf.rules.families.integers import BUCKETS, LABELS, NODES, before, causal, votes
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, PADDED, SEQUENCE, Arguments, below, call, fixed
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

WIDE, BYTE = "int64", "uint8"

HALF = 20
"""Bits of one of two indices that are packed into a number: a million of each."""

IDENTIFIERS = below(1 << 2 * HALF)
"""Such pairs, or identifiers of users and articles: too large for 32 bits."""
HASHES = below(1 << 31, start=-(1 << 31))
NIBBLE = 4
"""Bits of a quantised weight, of which a byte has two."""
BITS_OF_BYTE = 8
SEED = 0x9E37_79B9_7F4A_7C15 >> 1
"""The golden ratio's bits, with which hash functions mix theirs; half of it fits int64."""
LARGE = below(1 << 31, start=1)
"""Of which a product has less than 63 bits."""


def numbers(size: Preset, fill: Fill, dtype: str = WIDE) -> TensorSpec:
    """A long vector of integers."""
    return fixed(*vector(size), fill=fill, dtype=dtype)


def one(fill: Fill, why: str, dtype: str = WIDE, **others: Argument) -> Variants:
    """The configuration of an operator of one vector, and of plain values."""
    return lambda size: {why: call(self=numbers(size, fill, dtype), **others)}


def scalar(value: int, fill: Fill, why: str) -> Variants:
    """The configuration of an operator of a number and a vector."""
    return lambda size: {why: call(self=value, other=numbers(size, fill))}


def two(left: Fill, right: Fill, why: str) -> Variants:
    """The configuration of an operator of two vectors."""
    return lambda size: {why: call(self=numbers(size, left), other=numbers(size, right))}


ROUNDING = {"floor": "rounded down", "trunc": "rounded to zero"}
"""Modes of a division, each with what it does."""


def rounded(operands: Callable[[Preset], Arguments], why: str) -> Variants:
    """The configurations of a division of integers in each rounding mode."""
    return lambda size: {
        f"{why}, {text}": call(**operands(size), rounding_mode=mode)
        for mode, text in ROUNDING.items()
    }


def nodes(size: Preset) -> Fill:
    """The nodes of a large graph."""
    return below(size.extent(NODES))


def padding(size: Preset) -> TensorSpec:
    """The mask of a batch of long texts."""
    return fixed(size.batch, size.extent(4096), fill=PADDED, dtype=WIDE)


def bits(first: Fill, why: str) -> Variants:
    """The configuration of a shift of bytes by the place of each of their bits."""

    def made(size: Preset) -> Rows:
        columns = BITS_OF_BYTE if first == BOOLEAN else 1
        return {
            why: call(
                self=fixed(*vector(size), columns, fill=first, dtype=BYTE),
                other=fixed(BITS_OF_BYTE, fill=SEQUENCE, dtype=BYTE),
            )
        }

    return made


def fields(wide: int, byte: int, whys: tuple[str, str]) -> Variants:
    """The configurations of an operator that takes one of two packed numbers."""
    return lambda size: {
        whys[0]: call(self=numbers(size, IDENTIFIERS), other=wide),
        whys[1]: call(self=numbers(size, below(256), BYTE), other=byte),
    }


ROWS: Mapping[str, Variants] = {
    "bitwise_and.Scalar": fields(
        *((1 << HALF) - 1, (1 << NIBBLE) - 1),
        ("the second of two indices in each int64", "the lower of two 4-bit weights in each byte"),
    ),
    "bitwise_right_shift.Tensor_Scalar": fields(
        *(HALF, NIBBLE),
        ("the first of two indices in each int64", "the upper of two 4-bit weights in each byte"),
    ),
    **{
        f"bitwise_{name}.Scalar_Tensor": scalar(other, fill, why)
        for name, other, fill, why in (
            ("and", (1 << HALF) - 1, IDENTIFIERS, "one of two indices in each int64"),
            ("or", 1 << 2 * HALF, IDENTIFIERS, "a flag above two indices in each int64"),
            ("xor", SEED, IDENTIFIERS, "hashes in int64 mixed with a seed"),
            ("left_shift", 1, below(63), "the bit of each flag in int64, for sets of labels"),
            ("right_shift", SEED, below(63), "a seed in int64 shifted to each of its bits"),
        )
    },
    "bitwise_and.Tensor": two(
        IDENTIFIERS, IDENTIFIERS, "two sets of forty flags in int64: of both"
    ),
    "bitwise_left_shift.Tensor": bits(BOOLEAN, "eight flags to the places of a byte's bits"),
    "bitwise_left_shift.Tensor_Scalar": one(
        below(1 << HALF), "the first of two indices to its place in each int64", other=HALF
    ),
    "bitwise_not.default": one(IDENTIFIERS, "sets of forty flags in int64: those that are not set"),
    "bitwise_or.Scalar": one(
        IDENTIFIERS, "a flag set above two indices in each int64", other=1 << 2 * HALF
    ),
    "bitwise_or.Tensor": two(
        IDENTIFIERS, IDENTIFIERS, "two sets of forty flags in int64: of either"
    ),
    "bitwise_right_shift.Tensor": bits(below(256), "each bit of bytes, such as a packed mask"),
    "bitwise_xor.Scalar": one(IDENTIFIERS, "hashes in int64, with a seed mixed in", other=SEED),
    "bitwise_xor.Tensor": two(IDENTIFIERS, IDENTIFIERS, "two hashes of 64 bits mixed"),
    "bincount.default": one(
        below(256), "bytes of pixels, as a histogram of brightness", BYTE, minlength=256
    ),
    "cumsum.default": lambda size: {
        "a mask of padding in int64, summed to tokens' positions": call(self=padding(size), dim=1)
    },
    "div.Scalar_mode": rounded(
        lambda size: {"self": numbers(size, IDENTIFIERS), "other": BUCKETS},
        "identifiers in int64 to blocks of a hundred thousand",
    ),
    "div.Tensor_mode": rounded(
        lambda size: {
            "self": numbers(size, HASHES),
            "other": numbers(size, below(BUCKETS, start=1)),
        },
        "signed hashes in int64, each by the extent of a table of its own",
    ),
    "eq.Scalar": lambda size: {
        "where a mask of padding in int64 is zero": call(self=padding(size), other=0)
    },
    "eq.Tensor": two(LABELS, LABELS, "predicted classes and labels in int64, for accuracy"),
    "floor_divide.Scalar": one(below(1 << HALF), "flat indices in int64 to their rows", other=1024),
    "gcd.default": two(
        LARGE, LARGE, "large numerators and denominators in int64: more steps than small ones"
    ),
    "ge.Tensor": causal("self", "other", WIDE),
    "gt.Tensor": before("other", "self", WIDE),
    "isin.Tensor_Tensor": lambda size: {
        "nodes of a large graph in int64, which of them are in a batch": call(
            elements=numbers(size, nodes(size)), test_elements=numbers(size, nodes(size))
        )
    },
    "lcm.default": two(
        LARGE, LARGE, "large denominators in int64, of fractions that are added: more steps"
    ),
    "le.Tensor": before("other", "self", WIDE),
    "lt.Tensor": before("self", "other", WIDE),
    "mode.default": votes("self", "dim", WIDE),
    "ne.Tensor": two(LABELS, LABELS, "predicted classes and labels in int64, for an error rate"),
    "remainder.Scalar": one(
        IDENTIFIERS, "identifiers in int64 to rows of a hashed table", other=BUCKETS
    ),
    "remainder.Tensor": two(
        HASHES, below(BUCKETS, start=1), "signed hashes in int64, each to a table of its own"
    ),
    "argsort.default sort.default": one(
        IDENTIFIERS, "identifiers in int64, as to group their rows"
    ),
    "argsort.stable sort.stable": one(
        IDENTIFIERS, "identifiers in int64, equal ones in their order", stable=True
    ),
    "sum.dim_IntList": lambda size: {
        "a mask of padding in int64, summed to texts' lengths": call(self=padding(size), dim=(1,))
    },
    "_unique.default _unique2.default": lambda size: {
        "ends of sampled edges of a large graph, each node once": call(
            self=numbers(size, nodes(size))
        )
    },
    # As many edges as a small graph can have.
    "unique_dim.default": lambda size: {
        "sampled edges of a dense graph, by both ends: each once": call(
            self=fixed(size.extent(256) ** 2, 2, fill=below(size.extent(256)), dtype=WIDE), dim=0
        )
    },
}

add_rows(FAMILIES.also, ROWS)
