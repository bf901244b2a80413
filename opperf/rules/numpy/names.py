"""Default values of NumPy's functions by argument name and kind, and helpers of their families."""

from __future__ import annotations

from opperf.model import Argument, Fill, Kind, Operator, TensorSpec
from opperf.rules.engine import Alternatives
from opperf.rules.shapes import LIST_LENGTH, Shape, shapes
from opperf.rules.sizes import Preset
from opperf.rules.values import NORMAL, REQUESTED, fixed, tensors


def alike(shape: Shape, fill: Fill = NORMAL, dtype: str = REQUESTED) -> tuple[TensorSpec, ...]:
    """A list of arrays of one shape."""
    return tensors([fixed(*shape, fill=fill, dtype=dtype)] * LIST_LENGTH)


def matrices(fill: Fill = NORMAL) -> Alternatives:
    """The alternatives of an array: one of each of `shapes`."""

    def alternatives(operator: Operator, size: Preset) -> list[Argument]:
        return [fixed(*shape, fill=fill) for shape in shapes(size)]

    return alternatives


def lists(operator: Operator, size: Preset) -> list[Argument]:
    """The alternatives of a list of arrays: one of each of `shapes`."""
    return [alike(shape) for shape in shapes(size)]


ARRAYS = ("a", "a1", "a2", "arr", "ary", "array", "b", "data", "m", "object", "v", "x", "x1", "x2")
LISTS = ("arrays", "arys", "tup")

TABLE: dict[tuple[str, Kind], Alternatives] = {
    **{(name, Kind.TENSOR): matrices() for name in ARRAYS},
    **{(name, Kind.TENSORS): lists for name in LISTS},
}
"""Default values of arguments of functions without a family, most of them callables at a path."""

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
"""Arrays that a function does not require."""
