"""The shapes that NumPy's functions are measured at, and values by argument name and kind.

What the families of functions build on, so that each size is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opperf.model import Argument, Fill, Kind, Operator, TensorSpec
from opperf.rules.engine import Alternatives
from opperf.rules.sizes import Preset
from opperf.rules.values import NORMAL, REQUESTED, Arguments, fixed, tensors

Shape = tuple[int, ...]
Variants = Callable[[Preset], Iterable[Arguments]]
"""The configurations of one function at a size."""

LIST_LENGTH = 3
"""Arrays in a list whose length is free: more than a pair, so that a loop shows."""


def square(size: Preset) -> Shape:
    """Shape of a square matrix, 4 MiB of float32 at the default size."""
    return (size.extent(1024), size.extent(1024))


def column(size: Preset) -> Shape:
    """Shape of a matrix of one column."""
    return (size.extent(10000), 1)


def tall(size: Preset) -> Shape:
    """Shape of a matrix of as many rows as `column` and a tenth of a `square`'s columns."""
    return (size.extent(10000), size.extent(100))


def vector(size: Preset) -> Shape:
    """Shape of a vector of as many elements as `square` has."""
    rows, columns = square(size)
    return (rows * columns,)


def line(size: Preset) -> Shape:
    """Shape of a vector for functions that take more than linear time, or run in Python."""
    return (size.extent(10000),)


def cube(size: Preset) -> Shape:
    """Shape of three axes, with about as many elements as `square`. The last two keep their
    extents, so that the elements grow with the size and not with its cube."""
    return (size.extent(64), 128, 128)


def shapes(size: Preset) -> tuple[Shape, Shape, Shape]:
    """The shapes that most functions are measured at."""
    return (square(size), column(size), tall(size))


def alike(shape: Shape, fill: Fill = NORMAL, dtype: str = REQUESTED) -> tuple[TensorSpec, ...]:
    """A list of arrays of one shape."""
    return tensors([fixed(*shape, fill=fill, dtype=dtype)] * LIST_LENGTH)


def own(table: Mapping[str, Variants], operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The configurations that a table of families has under any name of a function."""
    return next(table[name] for name in operator.names if name in table)(size)


def matrices(fill: Fill = NORMAL) -> Alternatives:
    """An array of each of `shapes`."""

    def alternatives(operator: Operator, size: Preset) -> list[Argument]:
        return [fixed(*shape, fill=fill) for shape in shapes(size)]

    return alternatives


def lists(operator: Operator, size: Preset) -> list[Argument]:
    """A list of arrays of each of `shapes`."""
    return [alike(shape) for shape in shapes(size)]


ARRAYS = ("a", "a1", "a2", "arr", "ary", "array", "b", "data", "m", "object", "v", "x", "x1", "x2")
LISTS = ("arrays", "arys", "tup")

TABLE: dict[tuple[str, Kind], Alternatives] = {
    **{(name, Kind.TENSOR): matrices() for name in ARRAYS},
    **{(name, Kind.TENSORS): lists for name in LISTS},
}
"""For functions without a family, of which the callables at a path without one are most."""

OPTIONAL_TENSORS = frozenset(
    {
        "append",
        "aweights",
        "fweights",
        "initial",
        "out",
        "prepend",
        "sorter",
        "to_begin",
        "to_end",
        "varargs",
        "weights",
        "where",
    }
)
"""Arrays that a function runs without."""
