"""Families of PyTorch's reductions, cumulative operators and statistics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.bert import scores, tokens
from opperf.rules.configurations import WHY
from opperf.rules.domains import DECIDED_BY_ONE, NEAR_ONE, reduction_fill
from opperf.rules.families.reductions import CLASSES, runs
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import Shape, line, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.torch.layouts import in_channels_last, transposed
from opperf.rules.values import BOOLEAN, Arguments, below, fixed, literal, tensor, tensors
from opperf.rules.variants import Variants, own

FAMILIES = Families()


def selected(shape: Shape, why: str) -> Arguments:
    """The gradient of a reduction's result, along the last axis, and the sizes of its input."""
    *outer, extent = shape
    return {
        "grad": tensor(*outer),
        "dim": -1,
        "indices": fixed(*outer, fill=below(extent), dtype="int64"),
        "sizes": shape,
        "keepdim": False,
        WHY: why,
    }


def accumulated(size: Preset, *, dim: int, why: str) -> Arguments:
    """A matrix and the results of `cumprod` along an axis, with their gradient."""
    shape = square(size)
    return {
        "grad": tensor(*shape),
        "input": tensor(*shape, fill=NEAR_ONE),
        "dim": dim,
        # Products of numbers near one are near one.
        "output": tensor(*shape, fill=NEAR_ONE),
        WHY: why,
    }


PICTURE = 256
"""Side of a picture whose gradient is taken."""


def picture(size: Preset) -> TensorSpec:
    """A grey picture of each sample."""
    return tensor(size.pictures, size.side(PICTURE), size.side(PICTURE))


def places(extent: int) -> TensorSpec:
    """Places along an axis, at distances that are not even."""
    return fixed(extent, fill=literal([i * i / extent for i in range(1, extent + 1)]))


EDGES = "each picture's derivatives by row and column, as an edge-aware loss takes them"
ALONG_ROWS = "each picture's derivatives along its rows, as a horizontal edge detector"


def gradients(**how: Argument) -> Variants:
    """Pictures for their derivatives, with the same further arguments at every size."""
    why = EDGES if isinstance(how.get("dim"), tuple) else ALONG_ROWS
    return lambda size: [{"self": picture(size), **how, WHY: why}]


VARIANTS: Mapping[str, Variants] = {
    "cummaxmin_backward": lambda size: [
        {
            "grad": tensor(*square(size)),
            "input": tensor(*square(size)),
            "indices": fixed(*square(size), fill=below(square(size)[1]), dtype="int64"),
            "dim": 1,
            WHY: "the gradient of the greatest so far in each row: a sum at each place",
        },
        {
            "grad": tensor(*square(size)),
            "input": tensor(*square(size)),
            "indices": fixed(*square(size), fill=below(square(size)[0]), dtype="int64"),
            "dim": 0,
            WHY: "the gradient of the greatest so far down columns: places a row apart",
        },
    ],
    "cumprod_backward": lambda size: [
        accumulated(size, dim=1, why="the gradient of running products along rows, as of light"),
        accumulated(size, dim=0, why="the gradient of running products down columns: a row apart"),
    ],
    "value_selecting_reduction_backward": lambda size: [
        selected(square(size), "each row's gradient to its maximum, as of a max pooling"),
        selected(tall(size), "many short rows, the gradient of each to one of its scores"),
        selected((*tokens(size), 64), "tokens' gradients to one feature each"),
    ],
    "gradient.array": gradients(dim=(1, 2)),
    "gradient.scalararray": gradients(spacing=0.5, dim=(1, 2)),
    "gradient.scalarint": gradients(spacing=0.5, dim=2),
    "gradient.scalarrayarray": gradients(spacing=(0.5, 0.25), dim=(1, 2)),
    "gradient.scalarrayint": gradients(spacing=(0.5,), dim=2),
    "gradient.tensorarray": lambda size: [
        {
            "self": picture(size),
            "spacing": tensors([places(size.side(PICTURE))] * 2),
            "dim": (1, 2),
            WHY: "derivatives on an uneven grid, as of a flow near a wall",
        }
    ],
    "gradient.tensorarrayint": lambda size: [
        {
            "self": picture(size),
            "spacing": tensors([places(size.side(PICTURE))]),
            "dim": 2,
            WHY: "derivatives along rows at uneven places, as of wavelengths",
        }
    ],
    "hash_tensor": lambda size: [
        {"self": fixed(*square(size)), WHY: "a matrix to one number, as to compare checkpoints"},
        {"self": fixed(*square(size)), "dim": 1, WHY: "a number for each row, as to find copies"},
        {"self": fixed(*square(size)), "dim": 0, WHY: "a number for each column: a row apart"},
    ],
    "is_same_size": lambda size: [
        {
            "self": fixed(*feature_maps(size)),
            "other": fixed(*feature_maps(size)),
            WHY: "two feature maps before they are added: a comparison of shapes alone",
        }
    ],
    "sum_to_size": lambda size: [
        {
            "self": tensor(*square(size)),
            "size": (1, square(size)[1]),
            WHY: "the gradient of a bias that was broadcast to all rows",
        },
        {
            "self": tensor(*feature_maps(size)),
            "size": (1, feature_maps(size)[1], 1, 1),
            WHY: "the gradient of a number per channel that was broadcast to feature maps",
        },
    ],
}
"""Operators that are no canonical operation, or whose overloads take other arguments each."""


@FAMILIES.add(*VARIANTS)
def along(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors for sums, differences and derivatives along an axis."""
    return own(VARIANTS, operator, size)


OF_MAPS = (
    *("amax", "amin", "logsumexp", "mean.dim", "nansum", "std.correction", "sum.dim_IntList"),
    *("var.correction", "var_mean.correction"),
)
"""Reductions of several axes, each a kernel of its own."""

OF_ROWS = (
    *("all.dim", "amax", "argmax", "argmin", "max.dim", "mean.dim", "min.dim", "nansum"),
    *("prod.dim_int", "std.correction", "sum.dim_IntList", "var.correction"),
)
"""Reductions whose rows are measured in both orders of memory."""

OF_PLACES = ("argmax", "argmin")
"""Operators that return indices, which have no gradient."""

RUNNING = ("cummax", "cumprod", "cumsum", "logcumsumexp")


@FAMILIES.also(*(f"{name}.default" if "." not in name else name for name in OF_MAPS))
def pooled(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps with channels last, for global pooling and for the statistics of channels."""
    maps = in_channels_last(feature_maps(size))
    for axes, why in (
        ((2, 3), "channels last: each picture's channels, as in squeeze and excitation"),
        ((0, 2, 3), "channels last: all but the channels, as the statistics of BatchNorm"),
    ):
        yield {"self": maps, "dim": axes, WHY: why}


@FAMILIES.also(*(f"{name}.default" if "." not in name else name for name in (*OF_ROWS, *RUNNING)))
def across(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The rows of a transposed matrix, whose elements are apart in memory."""
    shape = square(size)
    fill = reduction_fill(operator.name, shape, (1,))
    why = "each row of x.T, as features by samples: a row's elements are a column's length apart"
    yield {"self": transposed(shape, fill, operator.name not in OF_PLACES), "dim": 1, WHY: why}


@FAMILIES.also("all.default", "any.default", "count_nonzero.default", "sum.default")
def flags(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A mask of booleans, of which one element may decide whether all or any are set."""
    shape = scores(size)
    decided = operator.name in DECIDED_BY_ONE
    fill = entry_of(DECIDED_BY_ONE, operator)(math.prod(shape)) if decided else BOOLEAN
    yield {
        "self": fixed(*shape, fill=fill, dtype="bool"),
        WHY: "BERT-base's mask of attention as booleans: a byte for each element",
    }


@FAMILIES.also("argmax.default", "max.dim")
def of_pixels(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores of each pixel's class with the classes last in memory."""
    yield {
        "self": in_channels_last(feature_maps(size, CLASSES), operator.name not in OF_PLACES),
        "dim": 1,
        WHY: "channels last: the class of each pixel, whose scores are adjacent in memory",
    }


@FAMILIES.also("bincount.default")
def weighted(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Whole numbers, with a weight for each."""
    (count,) = line(size)
    yield {
        "self": fixed(count * 8, fill=below(count), dtype="int64"),
        "weights": fixed(count * 8),
        WHY: "edges' weights summed by node, as degrees of a weighted graph: many bins",
    }


@FAMILIES.also("segment_reduce.default")
def by_offsets(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows, and the places where their runs begin."""
    lengths = runs(2 * size.extent(128), 16)
    begins = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    yield {
        "data": tensor(begins[-1], 64),
        "reduce": "sum",
        "offsets": fixed(len(begins), fill=literal(begins), dtype="int64"),
        WHY: "runs by where they begin, as bags of words in a flat list",
    }
