"""Inputs of functions on integers, in ranges that programs have: hashes of 32 bits, signed
numbers, packed bytes, masks. JAX has no integers of 64 bits unless it is asked for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Argument, Fill
from opperf.rules.configurations import WHY
from opperf.rules.families.integers import BUCKETS, LABELS, NODES, before, causal, votes
from opperf.rules.registering import Families
from opperf.rules.shapes import vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, PADDED, Arguments, below, fixed
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

SIGNED, UNSIGNED, BYTE, MASK = "int32", "uint32", "uint8", "bool"

HASHES = below(1 << 32)
IDENTIFIERS = below(1 << 31)
LOWER, UPPER = 15, 4
"""The mask of the lower of two 4-bit weights in a byte, and the shift of the upper one."""

ROTATION = 13
"""The first by which Threefry, the generator of JAX's random numbers, rotates its words."""
LARGE = below(1 << 15, start=1)
"""Of which a product fits 32 bits."""
COLUMNS = 1024
"""Of a table, whose cells a flat index numbers."""


def rows(why: str, vectors: Mapping[str, tuple[Fill, str]], **others: Argument) -> Variants:
    """The configuration of a function of long vectors, each of a fill and a dtype, and of plain
    values."""

    def made(size: Preset) -> Iterable[Arguments]:
        drawn: Arguments = {
            name: fixed(*vector(size), fill=fill, dtype=dtype)
            for name, (fill, dtype) in vectors.items()
        }
        yield {**drawn, **others, WHY: why}

    return made


Named = tuple[str, str]
"""The names of a function's two tensors."""


def two(names: Named, fill: Fill, dtype: str, why: str) -> Variants:
    """The configuration of a function of two long vectors."""
    return rows(why, dict.fromkeys(names, (fill, dtype)))


def hashes(name: str, why: str, **others: Argument) -> Variants:
    """The configuration of a function of a long vector of hashes, and of plain values."""
    return rows(why, {name: (HASHES, UNSIGNED)}, **others)


def nodes(size: Preset) -> Iterable[Arguments]:
    """The nodes of sampled edges of a large graph, each once."""
    (count,) = vector(size)
    yield {
        "ar": fixed(count, fill=below(size.extent(NODES)), dtype=SIGNED),
        "size": count,
        "fill_value": 0,
        WHY: "ends of sampled edges of a large graph in int32, each node once",
    }


def members(size: Preset) -> Iterable[Arguments]:
    """Two lists of nodes of one graph."""
    listed = fixed(*vector(size), fill=below(size.extent(NODES)), dtype=SIGNED)
    yield {
        "element": listed,
        "test_elements": listed,
        "method": "sort",
        WHY: "nodes of a large graph in int32, which of them are in a batch",
    }


def positions(size: Preset) -> Iterable[Arguments]:
    """The mask of a batch of long texts."""
    mask = fixed(size.batch, size.extent(4096), fill=PADDED, dtype=SIGNED)
    yield {"a": mask, "axis": 1, WHY: "a mask of padding in int32, summed to tokens' positions"}


OPERANDS: Named = ("x", "y")
CODES = "hashes of 32 bits, as distances of codes"
BOTH = "two masks in bool, of padding and of causal attention: where both hold"
EITHER = "two masks in bool, of missing and of extreme values: where either holds"
AGREEMENT = "predicted classes and labels in int32, for accuracy"
ERRORS = "predicted classes and labels in int32, for an error rate"
FRACTIONS = "large numerators and denominators in int32: more steps than small ones"
DENOMINATORS = "large denominators in int32, of fractions that are added: more steps"
OPPOSITE = "a mask of padding in bool: where it does not hold"
TO_ROWS, TO_CELLS = (f"flat indices in int32 to their {what}" for what in ("rows", "columns"))

ROWS: Mapping[str, Variants] = {
    "jnp.bincount": rows(
        "bytes of pixels, as a histogram of brightness",
        {"x": (below(256), BYTE)},
        minlength=256,
        length=256,
    ),
    "jnp.bitwise_and": rows(
        "the lower of two 4-bit weights in each byte", {"x": (below(256), BYTE)}, y=LOWER
    ),
    "jnp.bitwise_count": hashes("x", CODES),
    "jnp.bitwise_or": two(OPERANDS, BOOLEAN, MASK, EITHER),
    "jnp.bitwise_xor": two(OPERANDS, HASHES, UNSIGNED, "two hashes of 32 bits mixed"),
    "jnp.cumsum": positions,
    "jnp.divmod": rows(
        "flat indices in int32 to rows and columns", {"x1": (IDENTIFIERS, SIGNED)}, x2=COLUMNS
    ),
    "jnp.equal": two(OPERANDS, LABELS, SIGNED, AGREEMENT),
    "jnp.floor_divide": rows(TO_ROWS, {"x1": (IDENTIFIERS, SIGNED)}, x2=COLUMNS),
    "jnp.gcd": two(("x1", "x2"), LARGE, SIGNED, FRACTIONS),
    "jnp.greater": before("y", "x", SIGNED),
    "jnp.greater_equal": causal("x", "y", SIGNED),
    "jnp.invert": rows(OPPOSITE, {"x": (BOOLEAN, MASK)}),
    "jnp.lcm": two(("x1", "x2"), LARGE, SIGNED, DENOMINATORS),
    "jnp.left_shift": hashes("x", "hashes of 32 bits, the half of a rotation", y=ROTATION),
    "jnp.less": before("x", "y", SIGNED),
    "jnp.less_equal": before("y", "x", SIGNED),
    "jnp.not_equal": two(OPERANDS, LABELS, SIGNED, ERRORS),
    "jnp.remainder": rows(
        "signed hashes to rows of a hashed table",
        {"x1": (below(1 << 31, start=-(1 << 31)), SIGNED)},
        x2=BUCKETS,
    ),
    "jnp.right_shift": rows(
        "the upper of two 4-bit weights in each byte", {"x1": (below(256), BYTE)}, x2=UPPER
    ),
    "jnp.isin": members,
    "jnp.unique": nodes,
    **{
        name: rows(
            "identifiers in int32, as to group their rows", {"a": (IDENTIFIERS, SIGNED)}, axis=-1
        )
        for name in ("jnp.argsort", "jnp.sort")
    },
    "lax.bitwise_and": two(OPERANDS, BOOLEAN, MASK, BOTH),
    "lax.bitwise_not": rows(OPPOSITE, {"x": (BOOLEAN, MASK)}),
    "lax.bitwise_or": two(OPERANDS, BOOLEAN, MASK, EITHER),
    "lax.bitwise_xor": two(OPERANDS, HASHES, UNSIGNED, "two words of Threefry, mixed"),
    "lax.clz": hashes("x", "hashes of 32 bits, as to count distinct elements by HyperLogLog"),
    "lax.eq": two(OPERANDS, LABELS, SIGNED, AGREEMENT),
    "lax.ge": causal("x", "y", SIGNED),
    "lax.gt": before("y", "x", SIGNED),
    "lax.le": before("y", "x", SIGNED),
    "lax.lt": before("x", "y", SIGNED),
    "lax.ne": two(OPERANDS, LABELS, SIGNED, ERRORS),
    "lax.population_count": hashes("x", CODES),
    "lax.reduce_xor": rows(
        "words of 32 bits, as a checksum", {"operand": (HASHES, UNSIGNED)}, axes=(0,)
    ),
    "lax.rem": rows(TO_CELLS, {"x": (IDENTIFIERS, SIGNED)}, y=COLUMNS),
    "lax.shift_right_arithmetic": rows(
        "sums in int32 to a layer's scale, as a power of two",
        {"x": (below(1 << 31, start=-(1 << 31)), SIGNED)},
        y=UPPER,
    ),
    **dict.fromkeys(
        ("lax.shift_left", "lax.shift_right_logical"),
        rows(
            "words in uint32, each by bits of its own, as PCG rotates them",
            {"x": (HASHES, UNSIGNED), "y": (below(32), UNSIGNED)},
        ),
    ),
    "lax.sort": rows(
        "identifiers in int32, as to group their rows",
        {"operand": (IDENTIFIERS, SIGNED)},
        dimension=0,
    ),
    "scipy.stats.mode": votes("a", "axis", SIGNED),
}
"""Configurations by function."""
add_rows(FAMILIES.also, ROWS)
