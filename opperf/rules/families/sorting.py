"""Sorting, searching, and sets of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, SEQUENCE, below, fixed, tensor

FAMILIES = Families()


def fewer(size: Preset) -> Shape:
    """Shape of a matrix of a quarter of a square's rows: sorting takes a hundred times as long as
    arithmetic."""
    rows, columns = square(size)
    return (max(2, rows // 4), columns)


@FAMILIES.operation("sort", "argsort")
def sort(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix along each axis and a vector, in random order. Only `sort` has a gradient."""
    make = tensor if operation.name == "sort" else fixed
    rows, columns = fewer(size)
    for shape, axis, why in (
        (
            (rows, columns),
            0,
            "short columns, as the ranks of samples by feature: elements are a row apart in memory",
        ),
        ((rows, columns), 1, "rows, as the scores of each sample"),
        ((rows * columns,), -1, "one long vector, as the scores of a whole data set"),
    ):
        yield {"x": make(*shape), "axis": axis, WHY: why}


@FAMILIES.operation("searchsorted")
def search(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A rising sequence, and many numbers to insert, from the left and from the right."""
    (count,) = line(size)
    for side, why in (
        ("left", "places before equal numbers, as in sampling by an inverse distribution"),
        ("right", "places behind equal numbers, as `digitize` finds the bins of measurements"),
    ):
        yield {
            "ordered": fixed(count, fill=SEQUENCE),
            "values": fixed(math.prod(fewer(size)), fill=below(count)),
            "side": side,
            WHY: why,
        }


@FAMILIES.operation(
    *("isin", "set_difference", "set_exclusive_or", "set_intersection", "set_union")
)
def sets(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two vectors of whole numbers, of which most occur, many more than once."""
    (count,) = line(size)
    for shape, why in (
        (line(size), "two short lists of numbers, most once or twice, as samples of two data sets"),
        (vector(size), "two long lists in which each number recurs, as the keys of two tables"),
    ):
        numbers = fixed(*shape, fill=below(count))
        yield {"x": numbers, "y": numbers, WHY: why}


@FAMILIES.operation("unique")
def unique(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A vector of whole numbers, of which most occur, many more than once."""
    (count,) = line(size)
    for shape, why in (
        (line(size), "a short list of numbers, most once or twice, as a day's customers"),
        (vector(size), "a long list in which each number recurs, as the words of a text"),
    ):
        yield {"x": fixed(*shape, fill=below(count)), WHY: why}
    numbers = fixed(*vector(size), fill=below(count))
    for wanted, why in (
        ("index", "with the place where each is first, as to keep the first of equal rows"),
        ("inverse", "with each element's place among them, as to encode categories"),
        ("counts", "with the number of each, as to count words"),
    ):
        yield {"x": numbers, wanted: True, WHY: why}


@FAMILIES.operation("flat_nonzero", "nonzero")
def nonzero(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors, of which half of the elements are not zero."""
    for shape, why in (
        (square(size), "half of long rows, as the edges in a graph's dense adjacency matrix"),
        (tall(size), "half of many short rows, as several labels of each sample"),
    ):
        yield {"x": fixed(*shape, fill=BOOLEAN), WHY: why}


BINS = 64


@FAMILIES.operation("bincount")
def bincount(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A long vector of a few different whole numbers."""
    why = "a long vector of few different numbers, as how often each class occurs"
    yield {"x": fixed(*vector(size), fill=below(BINS), dtype="int64"), "least": BINS, WHY: why}
