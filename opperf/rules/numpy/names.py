"""Default values of NumPy's functions by argument name and kind, and helpers of their families."""

from __future__ import annotations

from opperf.model import Fill, Kind, TensorSpec
from opperf.rules.engine import Alternatives
from opperf.rules.shapes import LIST_LENGTH, Shape, shapes
from opperf.rules.values import NORMAL, REQUESTED, fixed, tensors


def alike(shape: Shape, fill: Fill = NORMAL, dtype: str = REQUESTED) -> tuple[TensorSpec, ...]:
    """Returns a list of arrays of one shape."""
    return tensors([fixed(*shape, fill=fill, dtype=dtype)] * LIST_LENGTH)


ARRAYS = ("a", "a1", "a2", "arr", "ary", "array", "b", "data", "m", "object", "v", "x", "x1", "x2")

TABLE: dict[tuple[str, Kind], Alternatives] = {
    **dict.fromkeys(
        ((name, Kind.TENSOR) for name in ARRAYS),
        lambda operator, size: [fixed(*shape) for shape in shapes(size)],
    ),
    **dict.fromkeys(
        ((name, Kind.TENSORS) for name in ("arrays", "arys", "tup")),
        lambda operator, size: [alike(shape) for shape in shapes(size)],
    ),
}
"""Default values of arguments of functions without a family, most of them callables at a path."""

OPTIONAL_TENSORS = frozenset(
    {
        *("append", "aweights", "fweights", "initial", "out", "prepend", "sorter", "to_begin"),
        *("to_end", "varargs", "weights", "where"),
    }
)
"""Arrays that a function does not require."""
