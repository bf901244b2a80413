"""Inputs of JAX's functions on integers that NumPy does not have, of 32 bits."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.model import Argument
from opperf.rules.families.integers import LABELS, NODES, before, causal, votes
from opperf.rules.numpy.integers import (
    AGREEMENT,
    CODES,
    COLUMNS,
    ERRORS,
    GROUPED,
    HASHES,
    IDENTIFIERS,
    NEGATIVE_TOO,
    UNSIGNED,
    UPPER,
    rows,
    two,
)
from opperf.rules.registering import Families
from opperf.rules.values import below
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

SIGNED = "int32"


def hashes(name: str, why: str, **others: Argument) -> Variants:
    """The configuration of a function of a long vector of hashes, and of plain values."""
    return rows(why, {name: (HASHES, UNSIGNED)}, **others)


OPERANDS = "x y"

ROWS: Mapping[str, Variants] = {
    "lax.bitwise_xor": two(OPERANDS, HASHES, UNSIGNED, "two words of Threefry, mixed"),
    "lax.clz": hashes("x", "hashes of 32 bits, as to count distinct elements by HyperLogLog"),
    "lax.eq": two(OPERANDS, LABELS, SIGNED, AGREEMENT.format(SIGNED)),
    "lax.ge": causal("x", "y", SIGNED),
    "lax.gt": before("y", "x", SIGNED),
    "lax.le": before("y", "x", SIGNED),
    "lax.lt": before("x", "y", SIGNED),
    "lax.ne": two(OPERANDS, LABELS, SIGNED, ERRORS.format(SIGNED)),
    "lax.population_count": hashes("x", CODES),
    "lax.reduce_xor": rows("32-bit words: a checksum", {"operand": (HASHES, UNSIGNED)}, axes=(0,)),
    "lax.rem": rows("flat int32 indices to columns", {"x": (IDENTIFIERS, SIGNED)}, y=COLUMNS),
    "lax.shift_right_arithmetic": rows(
        "sums in int32 to a layer's scale, a power of two", {"x": (NEGATIVE_TOO, SIGNED)}, y=UPPER
    ),
    "lax.shift_left lax.shift_right_logical": rows(
        "words in uint32, rotated as PCG's", {"x": (HASHES, UNSIGNED), "y": (below(32), UNSIGNED)}
    ),
    "lax.sort": lambda size: rows(
        GROUPED.format(SIGNED), {"operand": (below(size.extent(NODES)), SIGNED)}, dimension=0
    )(size),
    "scipy.stats.mode": votes("a", "axis", SIGNED),
}
add_rows(FAMILIES.also, ROWS)
