"""Operations that move, repeat, join, split or make elements and compute little or nothing."""

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
"""Parts a tensor is split into; it divides the extents of `square` and `cube`."""
TIMES = 2
"""How often elements are repeated, and the width of a border."""

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
    """Axes of a stack of matrices in another order."""
    for values in AXES[operation.name]:
        yield {"x": tensor(*cube(size)), **values}


@FAMILIES.operation("transpose")
def transpose(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The axes of matrices exchanged, the last two of three, and the last brought to the front."""
    for shape in (square(size), tall(size)):
        yield {"x": tensor(*shape)}
    for axes in ((0, 2, 1), (2, 0, 1)):
        yield {"x": tensor(*cube(size)), "axes": axes}


@FAMILIES.operation("squeeze")
def squeeze(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """An axis of extent 1 taken out: the only one, the one named, and two of four."""
    yield {"x": tensor(*column(size))}
    yield {"x": tensor(*column(size)), "axis": (1,)}
    rows, columns = tall(size)
    yield {"x": tensor(1, rows, 1, columns), "axis": (0, 2)}


@FAMILIES.operation("tile")
def tile(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Copies below each other, beside each other, and both."""
    for times in ((TIMES, 1), (TIMES, TIMES)):
        yield {"x": tensor(*square(size)), "times": times}
    yield {"x": tensor(*column(size)), "times": (1, tall(size)[1])}


@FAMILIES.operation("broadcast")
def broadcast(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A column repeated, and a row."""
    yield {"x": tensor(*column(size)), "shape": tall(size)}
    rows, columns = square(size)
    yield {"x": tensor(1, columns), "shape": (rows, columns)}


@FAMILIES.operation("diag")
def diag(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix's diagonal, one below it, and a diagonal matrix."""
    yield {"x": tensor(*square(size))}
    yield {"x": tensor(*tall(size)), "offset": -1}
    yield {"x": tensor(*square(size)[:1])}


@FAMILIES.operation("diagflat")
def diagflat(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A diagonal matrix."""
    yield {"x": tensor(*square(size)[:1])}


@FAMILIES.operation("diagonal")
def diagonal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix's diagonal, and those beside it of a stack of matrices."""
    yield {"x": tensor(*square(size))}
    yield {"x": tensor(*cube(size)), "offset": 1, "axis1": 1, "axis2": 2}


def alike(shape: Shape) -> Roles:
    """A list of tensors of one shape."""
    return {"tensors": tensors([tensor(*shape)] * LIST_LENGTH)}


@FAMILIES.operation("atleast_1d", "atleast_2d", "atleast_3d")
def atleast(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Vectors that get the axes they lack."""
    yield alike(vector(size))


@FAMILIES.operation("concatenate")
def concatenate(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Below each other, and beside each other."""
    for shape in shapes(size):
        for axis in (0, 1):
            yield {**alike(shape), "axis": axis}


@FAMILIES.operation("stack")
def stack(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Along a new axis in front, and behind."""
    for shape in shapes(size):
        for axis in (0, -1):
            yield {**alike(shape), "axis": axis}


@FAMILIES.operation("column_stack", "dstack", "hstack", "vstack")
def join(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Along the axis that the name implies."""
    for shape in shapes(size):
        yield alike(shape)


@FAMILIES.operation("split")
def split(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Equal parts, and parts cut at given places, of three axes, as some cut the third."""
    yield {"x": tensor(*cube(size)), "parts": PARTS}
    yield {"x": tensor(*cube(size)), "starts": (1, PARTS)}
