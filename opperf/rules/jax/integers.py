"""Inputs of functions on integers, in ranges that programs have: hashes of 32 bits, signed
numbers, packed bytes, masks. JAX has no integers of 64 bits unless it is asked for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Argument, Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import vector
from opperf.rules.sizes import Preset
from opperf.rules.values import PADDED, Arguments, below, fixed
from opperf.rules.variants import Variants, own

FAMILIES = Families()

SIGNED, UNSIGNED, BYTE = "int32", "uint32", "uint8"

HASHES = below(1 << 32)
IDENTIFIERS = below(1 << 31)
BUCKETS = 100_000
"""Rows of a hashed table of embeddings."""
LOWER, UPPER = 15, 4
"""The mask of the lower of two 4-bit weights in a byte, and the shift of the upper one."""


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


def positions(size: Preset) -> Iterable[Arguments]:
    """The mask of a batch of long texts."""
    mask = fixed(size.batch, size.extent(4096), fill=PADDED, dtype=SIGNED)
    yield {"a": mask, "axis": 1, WHY: "a mask of padding in int32, summed to tokens' positions"}


ROWS: Mapping[str, Variants] = {
    "jnp.bitwise_and": rows(
        "the lower of two 4-bit weights in each byte", {"x": (below(256), BYTE)}, y=LOWER
    ),
    "jnp.bitwise_xor": rows(
        "two hashes of 32 bits mixed", {"x": (HASHES, UNSIGNED), "y": (HASHES, UNSIGNED)}
    ),
    "jnp.bitwise_count": rows(
        "hashes of 32 bits, as distances of codes", {"x": (HASHES, UNSIGNED)}
    ),
    "jnp.cumsum": positions,
    "jnp.remainder": rows(
        "signed hashes to rows of a hashed table",
        {"x1": (below(1 << 31, start=-(1 << 31)), SIGNED)},
        x2=BUCKETS,
    ),
    "jnp.right_shift": rows(
        "the upper of two 4-bit weights in each byte", {"x1": (below(256), BYTE)}, x2=UPPER
    ),
    **{
        name: rows(
            "identifiers in int32, as to group their rows", {"a": (IDENTIFIERS, SIGNED)}, axis=-1
        )
        for name in ("jnp.argsort", "jnp.sort")
    },
}
"""Configurations by function."""


@FAMILIES.also(*ROWS)
def integers(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The configurations of a function in `ROWS`."""
    return own(ROWS, operator, size)
