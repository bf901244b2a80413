"""Functions that rearrange, join, make or convert arrays, and are no canonical operation."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import Families, arguments_by_role, uses_of
from opperf.rules.families import shapes as shared
from opperf.rules.numpy.names import Variants, alike, own
from opperf.rules.numpy.operations.shapes import SHAPES
from opperf.rules.shapes import column, cube, line, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensors

FAMILIES = Families()

REARRANGED: dict[str, Variants] = {
    "ravel": lambda size: [{"a": fixed(*square(size)), "order": order} for order in "CF"],
    "resize": lambda size: [
        {"a": fixed(*square(size)), "new_shape": (2 * square(size)[0], square(size)[1])}
    ],
    "broadcast_arrays": lambda size: [
        {"args": tensors([fixed(*column(size)), fixed(*tall(size))])}
    ],
}


@FAMILIES.add(*REARRANGED)
def rearrange(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays to bring into another order or shape."""
    return own(REARRANGED, operator, size)


VIEWS = (
    *("broadcast_to", "diagonal", "expand_dims", "flip", "moveaxis", "reshape", "rollaxis"),
    *("squeeze", "swapaxes", "transpose"),
)
"""Functions that return another view of the array's own elements."""


@FAMILIES.add(*VIEWS)
def view(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A view of an array, which takes the time of a call whatever the array: the first of the
    shared configurations stands for all."""
    use, _ = next(iter(uses_of(operator, SHAPES)))
    family = shared.FAMILIES.by_operation[use.operation]
    first = next(iter(arguments_by_role(operator, SHAPES, family, size)))
    yield {**first, WHY: "A view of the array: the time of the call, whatever the shape"}


JOINED: dict[str, Variants] = {
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
def join(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays of one shape to join along each axis."""
    return own(JOINED, operator, size)


@FAMILIES.add("unstack")
def unstack(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A stack to split into matrices, and a matrix to split into columns."""
    yield {"x": fixed(*cube(size)), "axis": 0}
    yield {"x": fixed(*square(size)), "axis": 1}


UNTOUCHED = "int32"
"""Dtype of uninitialised arrays: floats may be NaN, and int32 is as large as the default dtype."""

MADE: dict[str, Variants] = {
    **dict.fromkeys(("ones", "zeros"), lambda size: [{"shape": shape} for shape in shapes(size)]),
    "empty": lambda size: [{"shape": square(size), "dtype": UNTOUCHED}],
    "full": lambda size: [{"shape": shape, "fill_value": 1} for shape in shapes(size)],
    "geomspace": lambda size: [{"start": 1, "stop": 4, "num": vector(size)[0]}],
    "empty_like": lambda size: [{"prototype": fixed(*square(size)), "dtype": UNTOUCHED}],
    "meshgrid": lambda size: [{"xi": tensors([fixed(square(size)[0]), fixed(square(size)[1])])}],
    "fromiter": lambda size: [{"iter": fixed(*line(size)), "dtype": "float64"}],
}


@FAMILIES.add(*MADE)
def create(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Shapes or contents of new arrays, as large as the inputs of other functions."""
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
def convert(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays to convert to another dtype, to and from bits, from bytes, and to an order in
    memory."""
    return own(CONVERTED, operator, size)
