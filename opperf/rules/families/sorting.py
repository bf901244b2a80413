"""Sorting, searching, and sets of integers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Fill
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import WORDS
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, below, between, fixed, literal, odds, tensor, zipf

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
            "short columns, as samples by each feature: elements are a row apart in memory",
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
        ("left", "places before equal numbers, for sampling by an inverse distribution"),
        ("right", "places behind equal numbers, as `digitize` finds the bins of measurements"),
    ):
        yield {
            "ordered": fixed(count, fill=Fill("ascending", 0.0, count - 1.0)),
            "values": fixed(math.prod(fewer(size)), fill=between(0, count)),
            "side": side,
            WHY: why,
        }


@FAMILIES.operation(
    *("isin", "set_difference", "set_exclusive_or", "set_intersection", "set_union")
)
def sets(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two vectors of integers, of which most occur, many more than once."""
    (count,) = line(size)
    # Long lists have all of their numbers: without an offset, both would be the same set.
    for shape, start, why in (
        (
            line(size),
            0,
            "two short lists of numbers, most once or twice, as samples of two data sets",
        ),
        (
            vector(size),
            count // 2,
            "two long lists in which each number recurs, as the keys of two tables",
        ),
    ):
        yield {
            "x": fixed(*shape, fill=below(count)),
            "y": fixed(*shape, fill=below(start + count, start=start)),
            WHY: why,
        }


@FAMILIES.operation("unique")
def unique(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A vector of integers, of which most occur, many more than once."""
    (count,) = line(size)
    numbers = fixed(*vector(size), fill=zipf(count))
    for x, why in (
        (
            fixed(*line(size), fill=below(count)),
            "a short list of numbers, most once or twice, as a day's customers",
        ),
        (numbers, "a long list in which some numbers are frequent, as the words of a text"),
    ):
        yield {"x": x, WHY: why}
    for wanted, why in (
        ("index", "with the place where each is first, as to keep the first of equal records"),
        ("inverse", "with each element's place among them, as to encode categories"),
        ("counts", "with the number of each, as to count words"),
    ):
        yield {"x": numbers, wanted: True, WHY: why}


@FAMILIES.operation("flat_nonzero", "nonzero")
def nonzero(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Tensors, of which half of the elements are not zero."""
    for shape, why in (
        (square(size), "half of long rows, as the pixels of an object"),
        (tall(size), "half of many short rows, as the measurements that are valid"),
    ):
        yield {"x": fixed(*shape, fill=BOOLEAN), WHY: why}
    few = "few of long rows, as the edges in a graph's dense adjacency matrix"
    yield {"x": fixed(*square(size), fill=odds(31, 1)), WHY: few}


BINS = 64


@FAMILIES.operation("bincount")
def bincount(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A long vector of a few different integers."""
    why = "a long vector of few different numbers, as how often each class occurs"
    yield {"x": fixed(*vector(size), fill=below(BINS), dtype="int64"), "least": BINS, WHY: why}
    words = size.extent(WORDS)
    yield {
        "x": fixed(*vector(size), fill=zipf(words), dtype="int64"),
        "least": words,
        WHY: "the words of a text, some very often: more counts than the nearest cache holds",
    }


EXPERTS = 64
"""Experts of a layer of DeepSeekMoE, of which a router chooses a few for each token."""


PROPOSALS = 20_000
"""Boxes of a feature map of 84 x 84 cells with three anchors each, about."""


@FAMILIES.operation("top_k")
def top_k(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores, of which the best of each row are found: few of many, few of few, and half."""
    for shape, k, axis, why in (
        (
            (size.batch, size.extent(WORDS)),
            50,
            -1,
            "the best 50 of a vocabulary for each sentence, for top-k sampling",
        ),
        ((size.extent(4096), EXPERTS), 6, -1, "six of 64 experts for each token, as DeepSeekMoE"),
        (
            (size.images, size.extent(PROPOSALS)),
            size.extent(PROPOSALS) // 20,
            -1,
            "the thousand best boxes of each image, as a region proposal network keeps them",
        ),
        (tall(size), 1, 0, "the best of each long column, as the strongest response to a feature"),
    ):
        yield {"x": tensor(*shape), "k": k, "gives": "both", "axis": axis, WHY: why}


@FAMILIES.operation("kth_smallest")
def kth_smallest(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix and a vector, for their middle elements or one near the end."""
    rows, columns = square(size)
    for shape, k, axis, why in (
        (
            (rows, columns),
            max(1, columns // 10),
            1,
            "a tenth of each row below it, as a trimmed loss skips the best fitted samples",
        ),
        (
            (rows, columns),
            max(1, rows // 2),
            0,
            "the middle of each column, as Byzantine workers' gradients are combined: a row apart",
        ),
        (
            vector(size),
            max(1, 9 * rows * columns // 10),
            -1,
            "a threshold with nine tenths of all weights below it, for pruning by magnitude",
        ),
    ):
        yield {"x": tensor(*shape), "k": k, "axis": axis, WHY: why}


@FAMILIES.operation("unique_runs")
def unique_runs(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A long vector in which two numbers alternate after runs of different lengths, and rows."""
    numbers = fixed(*vector(size), fill=BOOLEAN)
    yield {"x": numbers, WHY: "repeats removed, as CTC decoding merges a letter's time steps"}
    for wanted, why in (
        ({"counts": True}, "with the runs' lengths, as to encode a mask"),
        ({"inverse": True}, "with each element's run, as to number the segments of a signal"),
    ):
        yield {"x": numbers, **wanted, WHY: why}
    rows = fixed(size.extent(10000), 1, fill=BOOLEAN)
    yield {"x": rows, "axis": 0, WHY: "repeated rows removed: states that do not change"}


VOXELS = 32
"""Cells along each axis of a grid that points are sorted into."""


@FAMILIES.operation("unique_slices")
def unique_slices(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The cells of many points, of which some share one."""
    points = fixed(size.extent(10000), 3, fill=below(VOXELS), dtype="int64")
    yield {"x": points, "axis": 0, WHY: "cells of a point cloud, for sparse convolution"}
    yield {
        "x": points,
        "axis": 0,
        "inverse": True,
        "counts": True,
        WHY: "with each point's cell and the points of each, as VoxelNet pools a cell's points",
    }


@FAMILIES.operation("histogram")
def histogram(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A long vector, with the ends of its bins, without, and with the edges of each."""
    numbers = fixed(*vector(size))
    # Steps that binary numbers have exactly, so that no element is at an edge by rounding.
    edges = [step / 8 for step in range(-BINS // 2, BINS // 2 + 1)]
    described: tuple[tuple[Roles, str], ...] = (
        ({"count": BINS, "bounds": (-4, 4)}, "equal bins in a range, for activations"),
        (
            {"count": BINS},
            "equal bins from minimum to maximum, like those of gradients in TensorBoard",
        ),
        ({"edges": fixed(BINS + 1, fill=literal(edges))}, "bins by their edges, like ages"),
    )
    for bins, why in described:
        yield {"x": numbers, **bins, WHY: why}


@FAMILIES.operation("histogram_of_points")
def histogram_of_points(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Colours, in boxes of equal and of listed extents."""
    levels = 8
    pixels = fixed(size.extent(65536), 3, fill=between(0, 1))
    edges = fixed(levels + 1, fill=literal([step / levels for step in range(levels + 1)]))
    yield {
        "x": pixels,
        "count": (levels,) * 3,
        "bounds": (0, 1) * 3,
        WHY: "an image's colours in equal boxes, as to compare images",
    }
    yield {
        "x": pixels,
        "edges": (edges,) * 3,
        WHY: "colours in boxes by their edges, like a palette's: a search for each number",
    }
