"""Reading and writing by index and by mask."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.engine import Families
from opperf.rules.shapes import LIST_LENGTH, Shape, line, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, below, fixed, tensor, tensors

FAMILIES = Families()

INDEX = "int64"
"""The dtype that arrays are indexed with: another would be cast first."""


def mask(shape: Shape) -> TensorSpec:
    """A condition that half the elements meet."""
    return fixed(*shape, fill=BOOLEAN, dtype="bool")


def indices(shape: Shape, limit: int) -> TensorSpec:
    """Indices below a limit."""
    return fixed(*shape, fill=below(limit), dtype=INDEX)


@FAMILIES.operation("where")
def where(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """From one tensor or the other."""
    for shape in shapes(size):
        yield {"condition": mask(shape), "x": tensor(*shape), "y": tensor(*shape)}


@FAMILIES.operation("boolean_mask")
def boolean_mask(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The half of the elements that a mask picks."""
    yield {"mask": mask(square(size)), "data": tensor(*square(size))}


@FAMILIES.operation("choose")
def choose(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Each element from one of several matrices."""
    yield {
        "indices": indices(square(size), LIST_LENGTH),
        "choices": tensors([tensor(*square(size))] * LIST_LENGTH),
    }


@FAMILIES.operation("take")
def take(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Rows of a matrix, and elements of a vector."""
    rows, (count,) = tall(size), vector(size)
    yield {"data": tensor(*rows), "indices": indices(line(size), rows[0]), "axis": 0}
    yield {"data": tensor(count), "indices": indices(line(size), count)}


@FAMILIES.operation("take_along_last")
def take_along_last(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """As many elements of each row as it has."""
    shape = square(size)
    yield {"data": tensor(*shape), "indices": indices(shape, shape[0])}


@FAMILIES.operation("put_along_last")
def put_along_last(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """As many elements of each row overwritten as it has."""
    shape = square(size)
    yield {
        "data": tensor(*shape),
        "indices": indices(shape, shape[0]),
        "values": tensor(*shape),
    }


@FAMILIES.operation("put")
def put(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Single elements overwritten."""
    (count,) = vector(size)
    yield {
        "data": tensor(count),
        "indices": indices(line(size), count),
        "values": tensor(*line(size)),
    }


@FAMILIES.operation("delete")
def delete(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Rows taken out."""
    rows = tall(size)
    yield {"data": tensor(*rows), "where": indices(line(size), rows[0]), "axis": 0}


@FAMILIES.operation("fill_diagonal")
def fill_diagonal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One number along the diagonal, in place."""
    yield {"data": tensor(*square(size)), "value": 1}


@FAMILIES.operation("ravel_multi_index")
def ravel(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Positions among all elements from indices."""
    shape = square(size)
    every = tensors([indices(vector(size), extent) for extent in shape])
    yield {"indices": every, "shape": shape}


@FAMILIES.operation("unravel_index")
def unravel(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Indices from positions among all elements."""
    (count,) = vector(size)
    yield {"flat": indices((count,), count), "shape": square(size)}
