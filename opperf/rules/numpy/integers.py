"""Inputs of functions on integers, in ranges that programs have: hashes of 32 bits, signed
numbers, packed bytes, nodes of graphs. NumPy has other loops and algorithms for them; JAX has 32
bits in place of 64."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Argument, Fill
from opperf.rules.configurations import WHY
from opperf.rules.families.integers import BUCKETS, LABELS, NODES, before, causal
from opperf.rules.registering import Families
from opperf.rules.shapes import square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import PADDED, Arguments, below, call, fixed
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

SIGNED, UNSIGNED, BYTE = "int64", "uint32", "uint8"

BYTES = below(256)
HASHES = below(1 << 32)
IDENTIFIERS = below(1 << 31)
NEGATIVE_TOO = below(1 << 31, start=-(1 << 31))

LOWER, UPPER = 15, 4
"""The mask of the lower of two 4-bit weights in a byte, and the shift of the upper one."""
ROTATION = 13
"""The first by which Threefry, the generator of JAX's random numbers, rotates its words."""
COLUMNS = 1000
"""Of a table, whose cells a flat index numbers: no power of two, by which a division is a shift."""


def rows(why: str, vectors: Mapping[str, tuple[Fill, str]], **others: Argument) -> Variants:
    """The row of a function of long vectors, each of a fill and a dtype, and of plain values."""

    def made(size: Preset) -> Iterable[Arguments]:
        drawn: Arguments = {
            name: fixed(*vector(size), fill=fill, dtype=dtype)
            for name, (fill, dtype) in vectors.items()
        }
        yield {**drawn, **others, WHY: why}

    return made


def two(names: str, fill: Fill, dtype: str, why: str) -> Variants:
    """The configuration of a function of two long vectors of these names."""
    return rows(why, dict.fromkeys(names.split(), (fill, dtype)))


def nodes(names: str, why: str) -> Variants:
    """The configuration of a function of the ends of a large graph's sampled edges."""
    text = f"nodes of a large graph in int64: {why}"
    return lambda size: two(names, below(size.extent(NODES)), SIGNED, text)(size)


OPERANDS = "x1 x2"
BATCHES = "ar1 ar2"
CODES = "hashes of 32 bits, as distances of codes"
AGREEMENT = "predicted classes and labels in {}, for accuracy"
ERRORS = "predicted classes and labels in {}, for an error rate"
GROUPED = "nodes of sampled edges in {}, as to group edges"

ROWS: dict[str, Variants] = {
    "bincount": rows("bytes of pixels, for a histogram", {"x": (BYTES, BYTE)}, minlength=256),
    "bitwise_and": rows("the lower 4-bit weight of each byte", {"x1": (BYTES, BYTE)}, x2=LOWER),
    "bitwise_count": rows(CODES, {"x": (HASHES, UNSIGNED)}),
    "bitwise_xor": two(OPERANDS, HASHES, UNSIGNED, "two hashes of 32 bits mixed"),
    "cumsum": lambda size: {
        "a mask of padding in int64, summed to tokens' positions": call(
            a=fixed(size.batch, size.extent(4096), fill=PADDED, dtype=SIGNED), axis=1
        )
    },
    "divmod": rows("int64 indices to rows and columns", {"x1": (IDENTIFIERS, SIGNED)}, x2=COLUMNS),
    "equal": two(OPERANDS, LABELS, SIGNED, AGREEMENT.format(SIGNED)),
    "floor_divide": rows("flat int64 indices to rows", {"x1": (IDENTIFIERS, SIGNED)}, x2=COLUMNS),
    "greater": before("x2", "x1", SIGNED),
    "greater_equal": causal("x1", "x2", SIGNED),
    "in1d": nodes(BATCHES, "which of one batch are in another, by a table of all"),
    "intersect1d": nodes(BATCHES, "those of both of two batches, by a sort"),
    "isin": nodes("element test_elements", "which of them are in a batch"),
    "left_shift": rows("32-bit hashes, half a rotation", {"x1": (HASHES, UNSIGNED)}, x2=ROTATION),
    "less": before("x1", "x2", SIGNED),
    "less_equal": before("x2", "x1", SIGNED),
    "not_equal": two(OPERANDS, LABELS, SIGNED, ERRORS.format(SIGNED)),
    "remainder": rows("signed hashes to table rows", {"x1": (NEGATIVE_TOO, SIGNED)}, x2=BUCKETS),
    "right_shift": rows("the upper 4-bit weight of each byte", {"x1": (BYTES, BYTE)}, x2=UPPER),
    "setdiff1d": nodes(BATCHES, "those of one batch that are not in another"),
    "setxor1d": nodes(BATCHES, "those of one of two batches alone"),
    "sort argsort": lambda size: rows(
        GROUPED.format(SIGNED), {"a": (below(size.extent(NODES)), SIGNED)}, axis=-1
    )(size),
    "sum": lambda size: {
        "a boolean mask of padding, to lengths of texts": call(
            a=fixed(size.batch, size.extent(4096), fill=PADDED, dtype="bool"), axis=1
        ),
        "labels in integers, as counts of each row": call(
            a=fixed(*square(size), fill=LABELS, dtype=SIGNED), axis=1
        ),
    },
    "union1d": nodes(BATCHES, "those of either of two batches, each once"),
    "unique": nodes("ar", "ends of sampled edges, each once"),
}
add_rows(FAMILIES.also, ROWS)
