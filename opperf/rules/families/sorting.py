"""Sorting, searching, and sets of whole numbers."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.engine import Families
from opperf.rules.shapes import line, shapes, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, SEQUENCE, below, fixed, tensor

FAMILIES = Families()


@FAMILIES.operation("sort", "argsort")
def sort(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix along each axis and a long vector, in random order. Only `sort` has a gradient."""
    make = tensor if operation.name == "sort" else fixed
    for shape, axis in ((square(size), 0), (square(size), 1), (vector(size), -1)):
        yield {"x": make(*shape), "axis": axis}


@FAMILIES.operation("searchsorted")
def search(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A rising sequence, and many numbers to insert, from the left and from the right."""
    (count,) = line(size)
    for side in ("left", "right"):
        yield {
            "ordered": fixed(count, fill=SEQUENCE),
            "values": fixed(*vector(size), fill=below(count)),
            "side": side,
        }


@FAMILIES.operation(
    *("isin", "set_difference", "set_exclusive_or", "set_intersection", "set_union")
)
def sets(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two vectors of whole numbers, of which most occur, many more than once."""
    (count,) = line(size)
    for shape in (line(size), vector(size)):
        yield {"x": fixed(*shape, fill=below(count)), "y": fixed(*shape, fill=below(count))}


@FAMILIES.operation("unique")
def unique(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A vector of whole numbers, of which most occur, many more than once."""
    (count,) = line(size)
    for shape in (line(size), vector(size)):
        yield {"x": fixed(*shape, fill=below(count))}


@FAMILIES.operation("flat_nonzero", "nonzero")
def nonzero(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors, of which half of the elements are not zero."""
    for shape in shapes(size):
        yield {"x": fixed(*shape, fill=BOOLEAN)}


BINS = 64


@FAMILIES.operation("bincount")
def bincount(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A long vector of a few different whole numbers."""
    yield {"x": fixed(*vector(size), fill=below(BINS), dtype="int64"), "least": BINS}
