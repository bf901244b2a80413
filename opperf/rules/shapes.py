"""Shapes at which operators of every framework are measured."""

from __future__ import annotations

import math

from opperf.model import Argument
from opperf.rules.configurations import TAGS, TINY, WHY
from opperf.rules.sizes import Preset

Shape = tuple[int, ...]

LIST_LENGTH = 3
"""Length of a list of tensors that may have any: more than a pair, so that a loop over it shows."""


def square(size: Preset) -> Shape:
    """Shape of a matrix, 4 MiB of float32 at the default size. It is square in every preset, but
    not where a user sets the extents: a rule keeps rows and columns apart."""
    return size.matrix or (size.extent(1024), size.extent(1024))


def column(size: Preset) -> Shape:
    """Shape of a matrix of one column, of too few elements for a kernel to take long."""
    return (size.extent(10000), 1)


def slim(size: Preset) -> Shape:
    """Shape of a matrix of as many rows as `column` and a few columns, more than one."""
    return (size.extent(10000), size.extent(10, least=2))


def features(size: Preset) -> Shape:
    """Shape of a matrix of as many elements as `slim` has, with a row of 64 features. A compiler
    unrolls a row of ten and compiles three times as long."""
    return (size.extent(1600), size.extent(64))


def tall(size: Preset) -> Shape:
    """Shape of a matrix of as many rows as `column` and a tenth of a `square`'s columns."""
    return (size.extent(10000), size.extent(100))


def vector(size: Preset) -> Shape:
    """Shape of a vector of as many elements as `square` has."""
    rows, columns = square(size)
    return (rows * columns,)


def line(size: Preset) -> Shape:
    """Shape of a shorter vector, for operators that take more than linear time or run in Python."""
    return (size.extent(10000),)


def cube(size: Preset) -> Shape:
    """Shape of three axes, with about as many elements as `square`. The last two extents are fixed,
    so that the elements grow with the size and not with its cube."""
    return (size.extent(64), 128, 128)


def prime_below(length: int) -> int:
    """The largest prime below a length of at least 3."""
    numbers = range(length - 1, 1, -1)
    return next(n for n in numbers if all(n % divisor for divisor in range(2, math.isqrt(n) + 1)))


def decimal_below(length: int) -> int:
    """The largest multiple of a power of ten below a length: 1000 below 1024, 60 below 64."""
    unit = int("1" + "0" * (len(str(length - 1)) - 1))
    return (length - 1) // unit * unit


def in_cache(size: Preset) -> Shape:
    """Shape of a `square`'s first rows, at most 256 KiB of float32, which a core's cache holds."""
    rows, columns = square(size)
    return (max(1, min(rows // 16, 65_536 // columns)), columns)


def tiny(size: Preset) -> Shape:
    """Shape of so few elements in every size that a kernel is done before the call has returned."""
    return (64, 1)


def tiniest(size: Preset) -> Shape:
    """An eighth of `tiny`, for functions of which that takes longer than a call."""
    rows, columns = tiny(size)
    return (rows // 8, columns)


MOSTLY_DISPATCH = "mostly dispatch"
"""Marks the one configuration of an operator, at most, that is to show the overhead of a call."""

DISPATCH = f"a column of few elements: {MOSTLY_DISPATCH}"

FEW: dict[str, Argument] = {WHY: DISPATCH, TAGS: (TINY,)}
FEW_ITERATED: dict[str, Argument] = {
    WHY: "a column of few elements: a call and its iterations",
    TAGS: (TINY,),
}
"""The same of functions that a framework computes by a loop, which takes longer than the call."""


def shapes(size: Preset) -> tuple[Shape, Shape]:
    """The shapes of most operators: with the `column` of `DISPATCH`, those of MXNet's utility."""
    return (square(size), tall(size))


def wide(size: Preset) -> tuple[Shape, Shape, Shape]:
    """As `shapes`, and one of a few columns, for operators that work along the last axis."""
    return (square(size), slim(size), tall(size))
