"""Reading and writing by index and by mask."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import scores
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import LIST_LENGTH, Shape, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, PADDED, below, fixed, tensor, tensors, zipf

FAMILIES = Families()

INDEX = "int64"
"""Dtype of indices: others would be cast to it first."""


def mask(shape: Shape) -> TensorSpec:
    """A mask of half of the elements."""
    return fixed(*shape, fill=BOOLEAN, dtype="bool")


def indices(shape: Shape, limit: int) -> TensorSpec:
    """Indices below a limit."""
    return fixed(*shape, fill=below(limit), dtype=INDEX)


def masked(size: Preset) -> tuple[tuple[Shape, str], ...]:
    """Shapes of which a mask selects half of the elements, and why they are measured."""
    return (
        (square(size), "elements of long rows by a mask, as gaps in measurements are filled"),
        (tall(size), "elements of many short rows by a mask, as features that samples lack"),
    )


@FAMILIES.operation("where")
def where(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A condition, and two tensors to choose from, which are broadcast in the last."""
    for shape, why in masked(size):
        yield {"condition": mask(shape), "x": tensor(*shape), "y": tensor(*shape), WHY: why}
    _, *other = scores(size)
    yield {
        "condition": fixed(size.pictures, 1, 1, other[-1], fill=PADDED, dtype="bool"),
        "x": tensor(size.pictures, *other),
        "y": tensor(1, 1, 1, 1),
        WHY: "BERT-base's attention scores, those of padding replaced by one number",
    }


@FAMILIES.operation("boolean_mask")
def boolean_mask(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and a mask of half of its elements."""
    why = "half of a matrix's elements to a vector, as the measurements that are valid"
    yield {"mask": mask(square(size)), "data": tensor(*square(size)), WHY: why}


@FAMILIES.operation("choose")
def choose(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Several matrices, and for each element the index of one of them."""
    yield {
        "indices": indices(square(size), LIST_LENGTH),
        "choices": tensors([tensor(*square(size))] * LIST_LENGTH),
        WHY: "each element from one of several matrices, as a function defined in pieces",
    }


@FAMILIES.operation("take")
def take(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Rows of a matrix, and elements of a vector."""
    rows, (count,) = tall(size), vector(size)
    table = "rows of a table at random, as of word vectors: short copies"
    yield {"data": tensor(*rows), "indices": indices(line(size), rows[0]), "axis": 0, WHY: table}
    text = "rows of a table by the words of a text: few of them often"
    words = fixed(*line(size), fill=zipf(rows[0]), dtype=INDEX)
    yield {"data": tensor(*rows), "indices": words, "axis": 0, WHY: text}
    few = "single elements of a long vector at random, as parameters by their hash"
    yield {"data": tensor(count), "indices": indices(line(size), count), WHY: few}


@FAMILIES.operation("take_along_last")
def take_along_last(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and the indices of as many elements of each row as it has."""
    shape = square(size)
    why = "each row in an order of its own, as `argsort` returns it"
    yield {"data": tensor(*shape), "indices": indices(shape, shape[-1]), WHY: why}


@FAMILIES.operation("put_along_last")
def put_along_last(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and the indices and new values of as many elements of each row as it has."""
    shape = square(size)
    yield {
        "data": tensor(*shape),
        "indices": indices(shape, shape[-1]),
        "values": tensor(*shape),
        WHY: "values to each row at places of its own, as sorted results put back",
    }


@FAMILIES.operation("put")
def put(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A long vector, and the indices and new values of some of its elements."""
    (count,) = vector(size)
    yield {
        "data": tensor(count),
        "indices": indices(line(size), count),
        "values": tensor(*line(size)),
        WHY: "a few elements of a long vector at random, as a sparse vector made dense",
    }


@FAMILIES.operation("delete")
def delete(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and the indices of the rows to delete."""
    rows = tall(size)
    why = "rows deleted by their indices, as samples that a filter found: most of them"
    yield {"data": tensor(*rows), "where": indices(line(size), rows[0]), "axis": 0, WHY: why}


@FAMILIES.operation("fill_diagonal")
def fill_diagonal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and the number to fill its diagonal with."""
    why = "a diagonal overwritten, as the distance of each point to itself"
    yield {"data": tensor(*square(size)), "value": 1, WHY: why}


@FAMILIES.operation("ravel_multi_index")
def ravel(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Indices, which become positions among all elements."""
    shape = square(size)
    every = tensors([indices(vector(size), extent) for extent in shape])
    why = "rows and columns to positions in memory, as coordinates of a sparse matrix"
    yield {"indices": every, "shape": shape, WHY: why}


@FAMILIES.operation("unravel_index")
def unravel(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Positions among all elements, which become indices."""
    (count,) = vector(size)
    why = "positions in memory to rows and columns, as of the best scores of a whole matrix"
    yield {"flat": indices((count,), count), "shape": square(size), WHY: why}
