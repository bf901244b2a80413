"""Fills by canonical operation, where normal numbers are outside its domain or give one result
everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from opperf.model import Fill
from opperf.rules.shapes import Shape
from opperf.rules.values import (
    ABOVE_ONE,
    BOOLEAN,
    NORMAL,
    OPEN_UNIT,
    POSITIVE,
    below,
    between,
    odds,
)

WHOLE = "int32"
"""Dtype of functions that take whole numbers only."""

BITS = below(64)
SHIFTS = below(8)
"""Shifting `BITS` by these stays within 32 bits."""
COUNTING = below(64, start=1)
"""For common divisors and multiples, of which zero has none worth computing."""
FEW = below(4)
"""So few different numbers that a quarter of any two are equal."""
NEAR_ONE = between(0.999, 1.001)
"""A product of a million of these neither overflows nor vanishes."""

DOMAINS: dict[str, Fill] = {
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "reciprocal"), POSITIVE),
    # Between its poles at plus and minus pi / 2.
    "tan": OPEN_UNIT,
    **dict.fromkeys(("arccos", "arcsin", "arctanh"), OPEN_UNIT),
    "arccosh": ABOVE_ONE,
    "logical_not": BOOLEAN,
    **dict.fromkeys(("rsqrt", "rcbrt", "gamma", "gammaln", "digamma"), POSITIVE),
    "erfinv": OPEN_UNIT,
    "bitwise_not": BITS,
}
"""Operations of one tensor. One that is not here is defined everywhere."""


class Pair(NamedTuple):
    """Fills of an operation's two tensors."""

    left: Fill = NORMAL
    right: Fill = NORMAL


LOGICAL = Pair(BOOLEAN, BOOLEAN)
BITWISE = Pair(BITS, BITS)
SHIFTING = Pair(BITS, SHIFTS)
RATIO = Pair(NORMAL, POSITIVE)

EXPONENTS = between(0.0, 3.0)
"""Not negative: whole numbers have no such powers."""

PAIRS: dict[str, Pair] = {
    **dict.fromkeys(("divide", "floor_divide", "fmod", "remainder"), RATIO),
    # A negative base has no power by a fraction.
    "power": Pair(POSITIVE, EXPONENTS),
    **dict.fromkeys(("left_shift", "right_shift"), SHIFTING),
    **dict.fromkeys(("equal", "not_equal"), Pair(FEW, FEW)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), LOGICAL),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), BITWISE),
    **dict.fromkeys(("gcd", "lcm"), Pair(COUNTING, COUNTING)),
    "ldexp": Pair(NORMAL, SHIFTS),
}
"""Operations of two tensors."""

REDUCED: dict[str, Fill] = {
    **dict.fromkeys(("prod", "nanprod", "cumprod", "nancumprod"), NEAR_ONE),
    "count_nonzero": BOOLEAN,
}
"""Operations that reduce a tensor along axes."""

SETTLED: dict[str, Callable[[int], Fill]] = {
    "all": lambda count: odds(1, count),
    "any": lambda count: odds(count, 1),
}
"""Functions whose result one element can decide: the fill for a number of elements that are
reduced to one, so that about a third of the results differs from the rest."""


def reduction_fill(name: str, shape: Shape, axes: tuple[int, ...]) -> Fill:
    """The fill of a tensor that an operation reduces along axes, or along all where none is
    named."""
    if name not in SETTLED:
        return REDUCED.get(name, NORMAL)
    return SETTLED[name](math.prod(shape[axis] for axis in axes or range(len(shape))))
