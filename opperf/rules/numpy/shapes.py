"""Functions that move, repeat, join, split or make elements and compute little or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.model import Argument, Operator
from opperf.rules.engine import Families
from opperf.rules.numpy.names import Variants, alike, own
from opperf.rules.shapes import column, cube, line, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensors

FAMILIES = Families()

PARTS = 4
"""Parts an array is split into; it divides the extents of `square` and `cube`."""
TIMES = 2
"""How often elements are repeated, and the width of a border."""


def with_axes(name: str, size: Preset, values: Sequence[dict[str, Argument]]) -> list[Arguments]:
    """A square matrix with each of these plain values beside it."""
    return [{name: fixed(*square(size)), **one} for one in values]


REARRANGED: dict[str, Variants] = {
    "ravel": lambda size: with_axes("a", size, [{"order": "C"}, {"order": "F"}]),
    "resize": lambda size: [
        {"a": fixed(*square(size)), "new_shape": (TIMES * square(size)[0], square(size)[1])}
    ],
    "matrix_transpose": lambda size: [{"x": fixed(*square(size))}, {"x": fixed(*cube(size))}],
    "transpose": lambda size: [
        {"a": fixed(*square(size))},
        {"a": fixed(*cube(size)), "axes": (2, 0, 1)},
    ],
    "swapaxes": lambda size: [{"a": fixed(*cube(size)), "axis1": 0, "axis2": 2}],
    "moveaxis": lambda size: [{"a": fixed(*cube(size)), "source": (0, 1), "destination": (1, 2)}],
    "rollaxis": lambda size: [{"a": fixed(*cube(size)), "axis": 2}],
    "squeeze": lambda size: [{"a": fixed(*column(size))}],
    "expand_dims": lambda size: [{"a": fixed(*square(size)), "axis": 0}],
    "flip": lambda size: with_axes("m", size, [{}, {"axis": 0}, {"axis": 1}]),
    **dict.fromkeys(("fliplr", "flipud"), lambda size: with_axes("m", size, [{}])),
    "rot90": lambda size: with_axes("m", size, [{"k": 1}, {"k": 2}]),
    "roll": lambda size: with_axes(
        "a", size, [{"shift": 3}, {"shift": 3, "axis": 0}, {"shift": 3, "axis": 1}]
    ),
    "repeat": lambda size: with_axes(
        "a",
        size,
        [{"repeats": TIMES}, {"repeats": TIMES, "axis": 0}, {"repeats": TIMES, "axis": 1}],
    ),
    "tile": lambda size: [
        {"A": fixed(*square(size)), "reps": (TIMES, 1)},
        {"A": fixed(*column(size)), "reps": (1, tall(size)[1])},
    ],
    "pad": lambda size: with_axes(
        "array",
        size,
        [
            {"pad_width": ((TIMES, TIMES), (TIMES, TIMES)), "mode": mode}
            for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
        ],
    ),
    "broadcast_to": lambda size: [{"array": fixed(*column(size)), "shape": tall(size)}],
    "broadcast_arrays": lambda size: [
        {"args": tensors([fixed(*column(size)), fixed(*tall(size))])}
    ],
    **dict.fromkeys(
        ("atleast_1d", "atleast_2d", "atleast_3d"), lambda size: [{"arys": alike(vector(size))}]
    ),
    "diag": lambda size: [{"v": fixed(*square(size))}, {"v": fixed(*square(size)[:1])}],
    "diagflat": lambda size: [{"v": fixed(*square(size)[:1])}],
    "diagonal": lambda size: [
        {"a": fixed(*square(size))},
        {"a": fixed(*cube(size)), "offset": 1, "axis1": 1, "axis2": 2},
    ],
    **dict.fromkeys(("tril", "triu"), lambda size: with_axes("m", size, [{"k": 0}, {"k": 1}])),
}


@FAMILIES.add(*REARRANGED)
def rearranged(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices, and stacks of them, along each axis there is."""
    return own(REARRANGED, operator, size)


@FAMILIES.add("reshape")
def reshaped(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix as a vector, and with its first axis split. The new shape is called `shape` from
    NumPy 2.1 on."""
    name = "shape" if operator.parameter("shape") else "newshape"
    for shape in ((-1,), (PARTS, -1, PARTS)):
        yield {"a": fixed(*square(size)), name: shape}


JOINED: dict[str, Variants] = {
    "concatenate": lambda size: [
        {"arrays": alike(shape), "axis": axis} for shape in shapes(size) for axis in (0, 1)
    ],
    "stack": lambda size: [
        {"arrays": alike(shape), "axis": axis} for shape in shapes(size) for axis in (0, -1)
    ],
    **dict.fromkeys(
        ("column_stack", "dstack", "hstack", "vstack"),
        lambda size: [{"tup": alike(shape)} for shape in shapes(size)],
    ),
    "block": lambda size: [{"arrays": alike(square(size))}],
    "bmat": lambda size: [{"obj": alike(square(size))}],
    "append": lambda size: [
        {"arr": fixed(*square(size)), "values": fixed(*square(size)), "axis": axis}
        for axis in (None, 0)
    ],
    "insert": lambda size: [
        {"arr": fixed(*square(size)), "obj": 1, "values": fixed(square(size)[1]), "axis": axis}
        for axis in (0, 1)
    ],
}


@FAMILIES.add(*JOINED)
def joined(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays of one shape, below and beside each other."""
    return own(JOINED, operator, size)


@FAMILIES.category("splitting")
def split(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Equal parts, and parts cut at given places, of three axes, as `dsplit` cuts the third."""
    for sections in (PARTS, (1, PARTS)):
        yield {"ary": fixed(*cube(size)), "indices_or_sections": sections}


@FAMILIES.add("unstack")
def unstacked(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Each matrix of a stack, and each column of a matrix."""
    yield {"x": fixed(*cube(size)), "axis": 0}
    yield {"x": fixed(*square(size)), "axis": 1}


UNTOUCHED = "int32"
"""Dtype of arrays that are not filled. What happens to lie in memory may be NaN, and whole
numbers of as many bytes as the default dtype's take as long."""

MADE: dict[str, Variants] = {
    **dict.fromkeys(("ones", "zeros"), lambda size: [{"shape": shape} for shape in shapes(size)]),
    "empty": lambda size: [{"shape": square(size), "dtype": UNTOUCHED}],
    "full": lambda size: [{"shape": shape, "fill_value": 1} for shape in shapes(size)],
    "arange": lambda size: [{"start": vector(size)[0]}],
    **dict.fromkeys(
        ("linspace", "logspace", "geomspace"),
        lambda size: [{"start": 1, "stop": 4, "num": vector(size)[0]}],
    ),
    **dict.fromkeys(("eye", "tri"), lambda size: [{"N": square(size)[0]}]),
    "identity": lambda size: [{"n": square(size)[0]}],
    "indices": lambda size: [{"dimensions": square(size)}],
    "ones_like": lambda size: [{"a": fixed(*square(size))}],
    "zeros_like": lambda size: [{"a": fixed(*square(size))}],
    "full_like": lambda size: [{"a": fixed(*square(size)), "fill_value": 1}],
    "empty_like": lambda size: [{"prototype": fixed(*square(size)), "dtype": UNTOUCHED}],
    "vander": lambda size: [{"x": fixed(*line(size)), "N": PARTS}],
    "meshgrid": lambda size: [{"xi": tensors([fixed(square(size)[0]), fixed(square(size)[1])])}],
    "fromiter": lambda size: [{"iter": fixed(*line(size)), "dtype": "float64"}],
}


@FAMILIES.add(*MADE)
def made(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As large as the arrays that other functions are given."""
    return own(MADE, operator, size)


BYTE = "uint8"

CONVERTED: dict[str, Variants] = {
    "astype": lambda size: [
        {"x": fixed(*square(size)), "dtype": to} for to in ("float64", "int32")
    ],
    "packbits": lambda size: [{"a": fixed(*vector(size), fill=BOOLEAN, dtype=BYTE)}],
    "unpackbits": lambda size: [{"a": fixed(*vector(size), fill=below(256), dtype=BYTE)}],
    "frombuffer": lambda size: [{"buffer": fixed(*vector(size)), "dtype": BYTE}],
    "require": lambda size: [
        {"a": fixed(*square(size)), "dtype": None, "requirements": order} for order in "CF"
    ],
}


@FAMILIES.add(*CONVERTED)
def converted(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """To another dtype, to bits and from them, from bytes, and to an order in memory."""
    return own(CONVERTED, operator, size)
