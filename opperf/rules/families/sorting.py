"""Sorting, searching, and sets of integers."""

from __future__ import annotations

import math
from collections.abc import Callable

from opperf.model import Argument, Fill, TensorSpec
from opperf.operations.uses import Roles
from opperf.rules.bert import WORDS
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    POSITIVE,
    below,
    between,
    call,
    fixed,
    literal,
    odds,
    tensor,
    zipf,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

BINS = 64
EXPERTS = 64
"""Experts of a layer of DeepSeekMoE, of which a router chooses a few for each token."""
PROPOSALS = 20_000
"""Boxes of a feature map of 84 x 84 cells with three anchors each, about."""
VOXELS = 32
"""Cells along each axis of a grid that points are sorted into."""
LEVELS = 8


def fewer(size: Preset) -> Shape:
    """Shape of a quarter of a square's rows: sorting takes a hundred times arithmetic's time."""
    rows, columns = square(size)
    return (max(2, rows // 4), columns)


def sorted_along(make: Callable[..., TensorSpec]) -> Variants:
    """A matrix along each axis and a vector, in random order."""
    return lambda size: {
        "short columns, as samples by feature: a row apart": call(x=make(*fewer(size)), axis=0),
        "rows, as the scores of each sample": call(x=make(*fewer(size)), axis=1),
        "one long vector, as scores of a data set": call(x=make(math.prod(fewer(size))), axis=-1),
    }


def inserted(size: Preset, side: str, count: int) -> Roles:
    """A rising sequence, and many numbers to insert."""
    return call(
        ordered=fixed(count, fill=Fill("ascending", 0.0, count - 1.0)),
        values=fixed(math.prod(fewer(size)), fill=between(0, count)),
        side=side,
    )


def two_lists(size: Preset, shape: Shape, start: int) -> Roles:
    """Two vectors of integers, of which most occur."""
    (count,) = line(size)
    y = fixed(*shape, fill=below(start + count, start=start))
    return call(x=fixed(*shape, fill=below(count)), y=y)


def words(size: Preset) -> TensorSpec:
    """A long list in which some numbers are frequent."""
    return fixed(*vector(size), fill=zipf(*line(size)), dtype="int64")


def runs(size: Preset) -> TensorSpec:
    """A long vector in which two numbers alternate after runs of different lengths."""
    return fixed(*vector(size), fill=BOOLEAN, dtype="int64")


def points(size: Preset) -> TensorSpec:
    """The cells of many points, of which some share one."""
    return fixed(size.extent(10000), 3, fill=below(VOXELS), dtype="int64")


def pixels(size: Preset, **boxes: Argument) -> Roles:
    """Colours, and their boxes."""
    return call(x=fixed(size.extent(65536), 3, fill=between(0, 1)), **boxes)


def edges(count: int, start: float, step: float) -> TensorSpec:
    """Edges of bins, in steps that binary numbers have exactly: none is at one by rounding."""
    return fixed(count + 1, fill=literal([start + i * step for i in range(count + 1)]))


ROWS: dict[str, Variants] = {
    # Only this has a gradient.
    "sort": sorted_along(tensor),
    "argsort": sorted_along(fixed),
    "searchsorted": lambda size: {
        "places in a long table, as draws among cumulative sums": inserted(
            size, "left", *line(size)
        ),
        f"{BINS} edges of bins, which stay in cache, as ages to groups": inserted(
            size, "right", BINS
        ),
    },
    "isin set_difference set_exclusive_or set_intersection set_union": lambda size: {
        "two short lists, most numbers once or twice: two samples": two_lists(size, line(size), 0),
        # They have all of their numbers: without an offset, both would be the same set.
        "two long lists of few values, as prices in two catalogues": two_lists(
            size, vector(size), line(size)[0] // 2
        ),
    },
    "unique": lambda size: {
        "most once or twice, as amounts of money": call(
            x=fixed(*line(size), fill=below(*line(size)))
        ),
        "a long list in which some are frequent, as a text's words": call(x=words(size)),
        "with where each is first, as to keep the first record": call(x=words(size), index=True),
        "with each one's place among them, to encode categories": call(x=words(size), inverse=True),
        "with the number of each, as to count words": call(x=words(size), counts=True),
    },
    "flat_nonzero nonzero": lambda size: {
        "half of a mask, as samples above a median": call(
            x=fixed(*square(size), fill=BOOLEAN, dtype="bool")
        ),
        "few of long rows, as a graph's weighted edges": call(
            x=fixed(*square(size), fill=odds(31, 1))
        ),
    },
    "bincount": lambda size: {
        **{
            why: call(x=fixed(*vector(size), fill=fill, dtype="int64"), least=least)
            for why, fill, least in (
                ("a long vector of few numbers, as how often classes occur", below(BINS), BINS),
                ("a text's words: many counts", zipf(size.extent(WORDS)), size.extent(WORDS)),
            )
        },
        "edges' weights summed by node, as degrees of a weighted graph": call(
            x=fixed(8 * line(size)[0], fill=below(line(size)[0]), dtype="int64"),
            weights=fixed(8 * line(size)[0], fill=POSITIVE),
            least=line(size)[0],
        ),
    },
    "top_k": lambda size: {
        why: call(x=tensor(*shape), k=k, gives="both", axis=axis)
        for why, shape, k, axis in (
            ("the best 50 of a vocabulary, to sample", (size.batch, size.extent(WORDS)), 50, -1),
            ("six of 64 experts for a token, as DeepSeekMoE", (size.extent(4096), EXPERTS), 6, -1),
            (
                "the thousand best boxes of each image, as a region proposal network keeps them",
                (size.images, size.extent(PROPOSALS)),
                size.extent(PROPOSALS) // 20,
                -1,
            ),
            ("the best of long columns, as the strongest response to each", tall(size), 1, 0),
        )
    },
    "kth_smallest": lambda size: {
        "a tenth of each row below it, as a trimmed loss skips the best fitted samples": call(
            x=tensor(*square(size)), k=max(1, square(size)[1] // 10), axis=1
        ),
        "the middle of each column, as Byzantine workers' gradients are combined": call(
            x=tensor(*square(size)), k=max(1, square(size)[0] // 2), axis=0
        ),
        "a threshold with nine tenths of all weights below it, for pruning by magnitude": call(
            x=tensor(*vector(size)), k=max(1, 9 * vector(size)[0] // 10), axis=-1
        ),
    },
    "unique_runs": lambda size: {
        "repeats removed, as CTC decoding merges a letter's time steps": call(x=runs(size)),
        "with the runs' lengths, as to encode a mask": call(x=runs(size), counts=True),
        "with each element's run, to number a signal's parts": call(x=runs(size), inverse=True),
        "rows of three switches' states, each kept until one changes": call(
            x=fixed(size.extent(10000), 3, fill=BOOLEAN, dtype="int64"), axis=0
        ),
    },
    "unique_slices": lambda size: {
        "cells of a point cloud, for sparse convolution": call(x=points(size), axis=0),
        "with cells and counts: VoxelNet": call(x=points(size), axis=0, inverse=True, counts=True),
    },
    "histogram": lambda size: {
        "equal bins, for activations": call(x=fixed(*vector(size)), count=BINS, bounds=(-4, 4)),
        "equal bins from end to end, as TensorBoard": call(x=fixed(*vector(size)), count=BINS),
        "bins by edges, as standard scores": call(
            x=fixed(*vector(size)), edges=edges(BINS, -4.0, 1 / 8)
        ),
    },
    "histogram_of_points": lambda size: {
        "an image's colours in equal boxes": pixels(size, count=(LEVELS,) * 3, bounds=(0, 1) * 3),
        "boxes by edges, like a palette": pixels(size, edges=(edges(LEVELS, 0.0, 1 / LEVELS),) * 3),
    },
}
add_rows(FAMILIES.operation, ROWS)
