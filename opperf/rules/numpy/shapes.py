"""Functions that rearrange, join, make or convert arrays, and are no canonical operation."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import arguments_by_role, uses_of
from opperf.rules.families import shapes as shared
from opperf.rules.numpy.names import alike
from opperf.rules.numpy.operations.shapes import SHAPES
from opperf.rules.registering import Families
from opperf.rules.shapes import column, cube, line, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, tensors
from opperf.rules.variants import Variants, own

FAMILIES = Families()

REARRANGED: dict[str, Variants] = {
    "ravel": lambda size: [
        {"a": fixed(*square(size)), "order": order, WHY: why}
        for order, why in (
            ("C", "row by row, as before a dense layer: a view"),
            ("F", "column by column, as Fortran stores it: a copy against the order of memory"),
        )
    ],
    "resize": lambda size: [
        {
            "a": fixed(*square(size)),
            "new_shape": (2 * square(size)[0], square(size)[1]),
            WHY: "twice the rows, the elements repeated, as a tiled texture",
        }
    ],
    "broadcast_arrays": lambda size: [
        {
            "args": tensors([fixed(*column(size)), fixed(*tall(size))]),
            WHY: "a column and a matrix, as before a loop of one's own: views",
        }
    ],
}


@FAMILIES.add(*REARRANGED)
def rearrange(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays to bring into another order or shape."""
    return own(REARRANGED, operator, size)


VIEWS = {
    "broadcast_to": "a column to a matrix, as a number for each row",
    "diagonal": "a matrix, as the variances of a covariance",
    "expand_dims": "a matrix, as a batch of one",
    "flip": "both axes of a matrix, as a kernel's before it is convolved",
    "moveaxis": "the first axis last, as the channels of a picture to show",
    "reshape": "a matrix to a vector, as before a dense layer",
    "rollaxis": "the last axis first, as the channels of a decoded picture",
    "squeeze": "two axes of one element, as a reduction may leave them",
    "swapaxes": "the first two axes, as a batch and its time steps",
    "transpose": "a matrix, as a layer's weights",
}
"""Functions that return another view of the array's own elements, each with where it occurs."""


@FAMILIES.add(*VIEWS)
def view(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A view of an array, which takes the time of a call whatever the array: the first of the
    shared configurations stands for all."""
    use, _ = next(iter(uses_of(operator, SHAPES)))
    family = shared.FAMILIES.by_operation[use.operation]
    first = next(iter(arguments_by_role(operator, SHAPES, family, size)))
    occurs = next(VIEWS[name] for name in operator.names if name in VIEWS)
    yield {**first, WHY: f"{occurs}: a view, the time of the call"}


JOINED: dict[str, Variants] = {
    "block": lambda size: [
        {
            "arrays": alike(square(size)),
            WHY: "three matrices side by side, as features from three sources",
        }
    ],
    "bmat": lambda size: [
        {"obj": alike(square(size)), WHY: "three matrices side by side, as MATLAB's [A B C]"}
    ],
    "append": lambda size: [
        {"arr": fixed(*square(size)), "values": fixed(*square(size)), "axis": axis, WHY: why}
        for axis, why in (
            (None, "to one vector, as measurements gathered piece by piece: two flat copies"),
            (0, "rows below rows, as a new batch of records: the table is copied too"),
        )
    ],
    "insert": lambda size: [
        {
            "arr": fixed(*square(size)),
            "obj": 1,
            "values": fixed(square(size)[1 - axis]),
            "axis": axis,
            WHY: why,
        }
        for axis, why in (
            (0, "one row, as a record that came late: the rows after it are copied as one"),
            (1, "one column, as a feature of each sample: each row is copied in two parts"),
        )
    ],
}


@FAMILIES.add(*JOINED)
def join(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays of one shape to join along each axis."""
    return own(JOINED, operator, size)


@FAMILIES.add("unstack")
def unstack(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A stack to split into matrices, and a matrix to split into columns."""
    yield {"x": fixed(*cube(size)), "axis": 0, WHY: "a stack to matrices, as a clip to frames"}
    yield {"x": fixed(*square(size)), "axis": 1, WHY: "a table to its columns, as features"}


def of_shapes(square_why: str, tall_why: str, **values: Argument) -> Variants:
    """The configurations of a function that writes one number all over: at each of `shapes`, with
    why."""
    return lambda size: [
        {"shape": shape, **values, WHY: why}
        for shape, why in zip(shapes(size), (square_why, tall_why), strict=True)
    ]


UNTOUCHED = "int32"
"""Dtype of uninitialised arrays: floats may be NaN, and int32 is as large as the default dtype."""

MADE: dict[str, Variants] = {
    "ones": of_shapes(
        "a square matrix, as a mask to clear parts of: all its memory is written",
        "a table of few columns, as weights of samples to begin with",
    ),
    "zeros": of_shapes(
        "a square matrix, as a sum of gradients begins: from calloc, which may clear it",
        "a table of few columns, as counts of each row begin",
    ),
    "full": of_shapes(
        "a square matrix of one number, as a cost for every pair: all its memory is written",
        "a table of few columns, as one prior for the classes of each sample",
        fill_value=0.01,
    ),
    "empty": lambda size: [
        {"shape": square(size), "dtype": UNTOUCHED, WHY: "a buffer of results: not written to"}
    ],
    "geomspace": lambda size: [
        {
            "start": 1,
            "stop": 4,
            "num": vector(size)[0],
            WHY: "many steps, as a sweep of frequencies over two octaves",
        }
    ],
    "empty_like": lambda size: [
        {
            "prototype": fixed(*square(size)),
            "dtype": UNTOUCHED,
            WHY: "a buffer of results shaped as the input: not written to",
        }
    ],
    "meshgrid": lambda size: [
        {
            "xi": tensors([fixed(square(size)[0]), fixed(square(size)[1])]),
            WHY: "both coordinates of each point of a plane, as to plot a surface",
        }
    ],
    "fromiter": lambda size: [
        {
            "iter": fixed(*line(size)),
            "dtype": "float64",
            WHY: "one Python number after another, as a generator yields them",
        }
    ],
}


@FAMILIES.add(*MADE)
def create(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Shapes or contents of new arrays, as large as the inputs of other functions."""
    return own(MADE, operator, size)


BYTE = "uint8"

CONVERTED: dict[str, Variants] = {
    "astype": lambda size: [
        {"x": fixed(*square(size)), "dtype": to, WHY: why}
        for to, why in (
            ("float64", "to double precision, as before a system is solved"),
            ("int32", "to whole numbers, cut off, as coordinates to pixels"),
        )
    ],
    "packbits": lambda size: [
        {
            "a": fixed(*vector(size), fill=BOOLEAN, dtype=BYTE),
            WHY: "eight flags to a byte, as a mask to a file",
        }
    ],
    "unpackbits": lambda size: [
        {
            "a": fixed(*vector(size), fill=below(256), dtype=BYTE),
            WHY: "a byte to eight flags, as a bitmap from a file",
        }
    ],
    "frombuffer": lambda size: [
        {
            "buffer": fixed(*vector(size)),
            "dtype": BYTE,
            WHY: "an array over memory as it is, as of a message that came: a view",
        }
    ],
    "require": lambda size: [
        {"a": fixed(*square(size)), "dtype": None, "requirements": order, WHY: why}
        for order, why in (
            ("C", "by rows, as an extension in C wants it: no copy"),
            ("F", "by columns, as LAPACK wants it: a copy against the order of memory"),
        )
    ],
}


@FAMILIES.add(*CONVERTED)
def convert(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays to convert to another dtype, to and from bits, from bytes, and to an order in
    memory."""
    return own(CONVERTED, operator, size)
