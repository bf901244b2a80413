"""Inputs of operators on integers, in the dtypes and ranges that programs have."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.model import Argument, Fill, TensorSpec
from opperf.rules.families.integers import BUCKETS, LABELS, NODES, before, causal, votes
from opperf.rules.registering import Families
from opperf.rules.shapes import vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, PADDED, SEQUENCE, Arguments, below, call, fixed
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

WIDE, BYTE = "int64", "uint8"

HALF = 20
"""Bits of one of two indices that are packed into a number: a million of each."""

IDS = below(1 << 2 * HALF)
"""Such pairs, or identifiers of users and articles: too large for 32 bits."""
HASHES = below(1 << 31, start=-(1 << 31))
NIBBLE = 4
"""Bits of a quantised weight, of which a byte has two."""
BITS_OF_BYTE = 8
SEED = 0x9E37_79B9_7F4A_7C15 >> 1
"""The golden ratio's bits, with which hash functions mix theirs; half of it fits int64."""
EXTENTS = below(BUCKETS, start=1)
"""Of hashed tables."""
LARGE = below(1 << 31, start=1)
"""Of which a product has less than 63 bits."""


def vectors(size: Preset, dtype: str = WIDE, /, **arguments: Fill | Argument) -> Arguments:
    """The arguments of a call: a long vector of integers for each fill, and plain values."""
    return {
        name: fixed(*vector(size), fill=value, dtype=dtype) if isinstance(value, Fill) else value
        for name, value in arguments.items()
    }


def row(why: str, dtype: str = WIDE, /, **arguments: Fill | Argument) -> Variants:
    """The configuration of an operator of such vectors."""
    return lambda size: {why: vectors(size, dtype, **arguments)}


def rounded(why: str, /, **arguments: Fill | Argument) -> Variants:
    """The configurations of a division of integers in each rounding mode."""
    return lambda size: {
        f"{why}, {text}": vectors(size, **arguments, rounding_mode=mode)
        for mode, text in (("floor", "rounded down"), ("trunc", "rounded to zero"))
    }


def nodes(size: Preset) -> Fill:
    """The nodes of a large graph."""
    return below(size.extent(NODES))


def padding(size: Preset) -> TensorSpec:
    """The mask of a batch of long texts."""
    return fixed(size.batch, size.extent(4096), fill=PADDED, dtype=WIDE)


def bits(first: Fill, why: str, columns: int = 1) -> Variants:
    """The configuration of a shift of bytes by the place of each of their bits."""
    places = fixed(BITS_OF_BYTE, fill=SEQUENCE, dtype=BYTE)
    return lambda size: {
        why: call(self=fixed(*vector(size), columns, fill=first, dtype=BYTE), other=places)
    }


def fields(wide: int, byte: int, whys: tuple[str, str]) -> Variants:
    """The configurations of an operator that takes one of two packed numbers."""
    return lambda size: {
        whys[0]: vectors(size, self=IDS, other=wide),
        whys[1]: vectors(size, BYTE, self=below(256), other=byte),
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
        f"bitwise_{name}.Scalar_Tensor": row(why, self=other, other=fill)
        for name, other, fill, why in (
            ("and", (1 << HALF) - 1, IDS, "one of two indices in each int64"),
            ("or", 1 << 2 * HALF, IDS, "a flag above two indices in each int64"),
            ("xor", SEED, HASHES, "hashes in int64 mixed with a seed"),
            ("left_shift", 1, below(63), "the bit of each flag in int64, for sets of labels"),
            ("right_shift", SEED, below(63), "a seed in int64 shifted to each of its bits"),
        )
    },
    "bitwise_and.Tensor": row("two sets of forty flags in int64: of both", self=IDS, other=IDS),
    "bitwise_left_shift.Tensor": bits(BOOLEAN, "eight flags to the bits of a byte", BITS_OF_BYTE),
    "bitwise_left_shift.Tensor_Scalar": row(
        "the first of two indices to its place in each int64", self=below(1 << HALF), other=HALF
    ),
    "bitwise_not.default": row("sets of forty flags in int64: those that are not set", self=IDS),
    "bitwise_or.Scalar": row("a flag above two indices in int64", self=IDS, other=1 << 2 * HALF),
    "bitwise_or.Tensor": row("two sets of forty flags in int64: of either", self=IDS, other=IDS),
    "bitwise_right_shift.Tensor": bits(below(256), "each bit of bytes, such as a packed mask"),
    "bitwise_xor.Scalar": row("hashes in int64, with a seed mixed in", self=HASHES, other=SEED),
    "bitwise_xor.Tensor": row("two hashes in int64 mixed", self=HASHES, other=HASHES),
    "bincount.default": row("a histogram of bytes of pixels", BYTE, self=below(256), minlength=256),
    "cumsum.default": lambda size: {"int64 masks to positions": call(self=padding(size), dim=1)},
    "div.Scalar_mode": rounded("identifiers in int64 to their blocks", self=IDS, other=BUCKETS),
    "div.Tensor_mode": rounded(
        "signed hashes in int64, each by the extent of its own table", self=HASHES, other=EXTENTS
    ),
    "eq.Scalar": lambda size: {"where a mask in int64 is zero": call(self=padding(size), other=0)},
    "eq.Tensor": row("predictions and labels in int64, for accuracy", self=LABELS, other=LABELS),
    "floor_divide.Scalar": row("flat indices in int64 to rows", self=below(1 << HALF), other=1024),
    "gcd.default": row("large numbers in int64: more steps than small", self=LARGE, other=LARGE),
    "ge.Tensor": causal("self", "other", WIDE),
    "gt.Tensor": before("other", "self", WIDE),
    "isin.Tensor_Tensor": lambda size: {
        "int64 nodes in a batch": vectors(size, elements=nodes(size), test_elements=nodes(size))
    },
    "lcm.default": row("large denominators in int64: more steps", self=LARGE, other=LARGE),
    "le.Tensor": before("other", "self", WIDE),
    "lt.Tensor": before("self", "other", WIDE),
    "mode.default": votes("self", "dim", WIDE),
    "ne.Tensor": row("predictions and labels in int64, for errors", self=LABELS, other=LABELS),
    "remainder.Scalar": row("identifiers in int64 to a hashed table", self=IDS, other=BUCKETS),
    "remainder.Tensor": row("signed hashes in int64, to their tables", self=HASHES, other=EXTENTS),
    "argsort.default sort.default": lambda size: {
        "nodes of sampled edges in int64, as to group edges": vectors(size, self=nodes(size))
    },
    "argsort.stable sort.stable": lambda size: {
        "nodes of sampled edges in int64, ties in order": vectors(
            size, self=nodes(size), stable=True
        )
    },
    "sum.dim_IntList": lambda size: {"int64 masks to lengths": call(self=padding(size), dim=(1,))},
    "_unique.default _unique2.default": lambda size: {
        "ends of sampled edges of a large graph, each node once": vectors(size, self=nodes(size))
    },
    # As many edges as a small graph can have.
    "unique_dim.default": lambda size: {
        "sampled edges of a dense graph, by both ends: each once": call(
            self=fixed(size.extent(256) ** 2, 2, fill=below(size.extent(256)), dtype=WIDE), dim=0
        )
    },
}

add_rows(FAMILIES.also, ROWS)
