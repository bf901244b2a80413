"""Operations that rearrange, repeat, join or split elements, with little or no arithmetic."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.engine import Families
from opperf.rules.shapes import LIST_LENGTH, Shape, column, cube, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor, tensors

FAMILIES = Families()

PARTS = 4
"""Number of parts that a tensor is split into. It divides the extents of `square` and `cube`."""
TIMES = 2
"""Repetitions of elements, and the width of a border."""

PLAIN: dict[str, tuple[Roles, ...]] = {
    "expand_dims": ({"axis": 0}, {"axis": 1}, {"axis": -1}),
    "flip": ({}, {"axis": 0}, {"axis": 1}),
    "repeat": ({"times": TIMES}, {"times": TIMES, "axis": 0}, {"times": TIMES, "axis": 1}),
    "reshape": ({"shape": (-1,)}, {"shape": (PARTS, -1, PARTS)}),
    "roll": ({"shift": (3,)}, {"shift": (3,), "axis": (0,)}, {"shift": (3,), "axis": (1,)}),
    "rot90": ({"times": 1}, {"times": 2}),
    "tril": ({"offset": 0}, {"offset": 1}),
    "triu": ({"offset": 0}, {"offset": 1}),
    "pad": tuple(
        {"widths": ((TIMES, TIMES), (TIMES, TIMES)), "mode": mode}
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
    ),
}
"""Plain values beside a square matrix."""


@FAMILIES.operation(*PLAIN)
def rearrange(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix with each of the values in `PLAIN`."""
    for values in PLAIN[operation.name]:
        yield {"x": tensor(*square(size)), **values}


AXES: dict[str, tuple[Roles, ...]] = {
    "swapaxes": ({"axis1": 0, "axis2": 1}, {"axis1": 0, "axis2": 2}),
    "moveaxis": (
        {"source": (0,), "destination": (2,)},
        {"source": (0, 1), "destination": (1, 2)},
    ),
    "rollaxis": ({"axis": 2},),
}
"""Plain values beside a tensor of three axes."""


@FAMILIES.operation(*AXES)
def move_axes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A stack of matrices with each of the values in `AXES`."""
    for values in AXES[operation.name]:
        yield {"x": tensor(*cube(size)), **values}


@FAMILIES.operation("transpose")
def transpose(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, and stacks of matrices with two orders of axes."""
    for shape in (square(size), tall(size)):
        yield {"x": tensor(*shape)}
    for axes in ((0, 2, 1), (2, 0, 1)):
        yield {"x": tensor(*cube(size)), "axes": axes}


@FAMILIES.operation("squeeze")
def squeeze(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors with axes of extent 1 to remove: all of them, a named one, and two of four."""
    yield {"x": tensor(*column(size))}
    yield {"x": tensor(*column(size)), "axis": (1,)}
    rows, columns = tall(size)
    yield {"x": tensor(1, rows, 1, columns), "axis": (0, 2)}


@FAMILIES.operation("tile")
def tile(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix to repeat along the first axis and along both, and a column along the second."""
    for times in ((TIMES, 1), (TIMES, TIMES)):
        yield {"x": tensor(*square(size)), "times": times}
    yield {"x": tensor(*column(size)), "times": (1, tall(size)[1])}


@FAMILIES.operation("broadcast")
def broadcast(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A column and a row, each with the shape to broadcast to."""
    yield {"x": tensor(*column(size)), "shape": tall(size)}
    rows, columns = square(size)
    yield {"x": tensor(1, columns), "shape": (rows, columns)}


@FAMILIES.operation("diag")
def diag(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Matrices, for their diagonal and one below it, and a vector, for a diagonal matrix."""
    yield {"x": tensor(*square(size))}
    yield {"x": tensor(*tall(size)), "offset": -1}
    yield {"x": tensor(*square(size)[:1])}


@FAMILIES.operation("diagflat")
def diagflat(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A vector, for a diagonal matrix."""
    yield {"x": tensor(*square(size)[:1])}


@FAMILIES.operation("diagonal")
def diagonal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, for its diagonal, and a stack of matrices, for their diagonals above it."""
    yield {"x": tensor(*square(size))}
    yield {"x": tensor(*cube(size)), "offset": 1, "axis1": 1, "axis2": 2}


def alike(shape: Shape) -> Roles:
    """A list of tensors of one shape."""
    return {"tensors": tensors([tensor(*shape)] * LIST_LENGTH)}


@FAMILIES.operation("atleast_1d", "atleast_2d", "atleast_3d")
def atleast(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Vectors, to which axes are added."""
    yield alike(vector(size))


@FAMILIES.operation("concatenate")
def concatenate(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along each axis."""
    for shape in shapes(size):
        for axis in (0, 1):
            yield {**alike(shape), "axis": axis}


@FAMILIES.operation("stack")
def stack(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along a new first and a new last axis."""
    for shape in shapes(size):
        for axis in (0, -1):
            yield {**alike(shape), "axis": axis}


@FAMILIES.operation("column_stack", "dstack", "hstack", "vstack")
def join(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to join along the axis that the operation's name implies."""
    for shape in shapes(size):
        yield alike(shape)


@FAMILIES.operation("split")
def split(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors to split into equal parts, and at indices. They have three axes, as some functions
    split along the third."""
    yield {"x": tensor(*cube(size)), "parts": PARTS}
    yield {"x": tensor(*cube(size)), "starts": (1, PARTS)}
