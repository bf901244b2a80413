"""Reductions and accumulations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Argument
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.domains import WHOLE_DTYPE, reduction_fill
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, REQUESTED, SEQUENCE, fixed, literal, tensor

FAMILIES = Families()

CLASSES = 21
"""Of Pascal VOC's segmentation: twenty and the background."""


def along_axis(axis: int | tuple[int, ...] | None) -> dict[str, Argument]:
    """The axis argument, omitted for all axes."""
    return {} if axis is None else {"axis": axis}


class Reduced(NamedTuple):
    """A shape, the axis or axes that it is reduced along, and why that is measured."""

    shape: Shape
    axis: int | tuple[int, ...] | None
    why: str


REDUCED = (
    "each column, as a feature over samples: its elements are a row apart in memory",
    "each row, as the scores of a softmax: its elements are adjacent in memory",
    "the whole matrix to one number, as for a loss or a check",
    "long columns of a narrow matrix, as for the gradient of a dense layer's bias",
    "the vectors of BERT-base's tokens, the axis that LayerNorm reduces",
    "the tokens of each sentence, the middle axis, as to one vector for a sentence",
)
"""Why tensors are reduced, in the order of `along_one`."""

ACCUMULATED = (
    "down each column, as many series in step: a row is added to the last one's results",
    "along each row, as probabilities before sampling, or light along a ray",
    "the whole matrix as one vector: a single chain of results",
    "down long columns, as a few long series side by side",
    "the vectors of BERT-base's tokens: a short chain for each of many rows",
    "the tokens of each sentence, the middle axis, as for a mean of those before each",
)
"""Why tensors are accumulated, in the same order."""

SEARCHED = (
    "each column, as the best sample for each feature: elements are a row apart in memory",
    "each row, as the class of each sample: elements are adjacent in memory",
    "the whole matrix, as the best point of a grid search",
    "long columns, as the nearest of many points for each of a few",
    "the vectors of BERT-base's tokens: one place for each of many rows",
    "the tokens of each sentence, the middle axis, as to see which a feature comes from",
)
"""Why the places of extreme elements are searched for, in the same order."""

MIXED = (
    "each column, as parity words of a RAID array's disks: elements are a row apart in memory",
    "each row, as a checksum of each record: elements are adjacent in memory",
    "the whole matrix to one number, as a checksum of a file",
    "long columns of a narrow matrix, as checksums of a table's fields",
    "the last of three axes, as a hash of each position's features",
    "the middle of three axes, as a hash of each feature's positions",
)
"""Why whole numbers are combined by exclusive or, in the same order."""

WHYS = {
    "exclusive_or": MIXED,
    **dict.fromkeys(("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"), ACCUMULATED),
    **dict.fromkeys(("argmax", "argmin"), SEARCHED),
}
"""Why tensors are measured with an operation, where that is not `REDUCED`."""


def whys_of(name: str) -> tuple[str, ...]:
    """Why tensors are measured with an operation, one that ignores NaN or not."""
    return WHYS.get(name.removeprefix("nan"), REDUCED)


def along_one(size: Preset, whys: tuple[str, ...] = REDUCED) -> tuple[Reduced, ...]:
    """Shapes, each with one axis or none: one matrix along the first, the second and both, which
    shows the cost of memory order; a shape of as many elements along the first as well; and tokens
    along the last and along the middle."""
    reduced = (
        (square(size), 0),
        (square(size), 1),
        (square(size), None),
        (tall(size), 0),
        (few_sentences(size), 2),
        (few_sentences(size), 1),
    )
    return tuple(Reduced(*one, why) for one, why in zip(reduced, whys, strict=True))


def reduced_shapes(size: Preset) -> tuple[Reduced, ...]:
    """Those of `along_one`, and feature maps along all axes but the channels'."""
    return (
        *along_one(size),
        Reduced(
            feature_maps(size),
            (0, 2, 3),
            "all of feature maps but their channels, the axes that BatchNorm reduces",
        ),
    )


def reduced_axes(axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The axes as a tuple; an empty one means all."""
    if axis is None:
        return ()
    return axis if isinstance(axis, tuple) else (axis,)


@FAMILIES.operation(
    *("all", "any", "count_nonzero", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"),
    *(
        "exclusive_or",
        "logsumexp",
        "lower_median",
        "lower_nanmedian",
        "max",
        "mean",
        "median",
        "min",
    ),
    *("min_and_max", "mode", "moments", "nanmean", "nanprod", "nansum", "prod", "ptp", "std"),
    *("sum", "var"),
)
def reduction(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The tensors of `reduced_shapes`, or of `along_one` for what takes one axis alone, with fills
    that suit the reduction."""
    several = operation.inputs["axis"] == "axes"
    one_axis = along_one(size, whys_of(operation.name))
    for shape, axis, why in reduced_shapes(size) if several else one_axis:
        fill = reduction_fill(operation.name, shape, reduced_axes(axis))
        dtype = WHOLE_DTYPE if operation.name == "exclusive_or" else REQUESTED
        yield {"x": tensor(*shape, fill=fill, dtype=dtype), **along_axis(axis), WHY: why}


@FAMILIES.operation("argmax", "argmin")
def extremes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The tensors of `along_one`, and scores of each pixel's class, without a gradient, which
    indices do not have."""
    for shape, axis, why in along_one(size, whys_of(operation.name)):
        yield {"x": fixed(*shape), **along_axis(axis), WHY: why}
    scores = feature_maps(size, CLASSES)
    yield {"x": fixed(*scores), "axis": 1, WHY: "the class of each pixel, as in segmentation"}


QUARTERS = (0.25, 0.5, 0.75)
"""Shares of the quartiles."""

EXTREME = 0.99
"""Share of the elements that a range is to hold where a few outliers are cut off."""


@FAMILIES.operation("quantile", "nanquantile")
def quantile(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix for its quartiles along each axis and along all, and for one share of its elements,
    which some frameworks take as a number."""
    shape = square(size)
    quartiles = fixed(len(QUARTERS), fill=literal(QUARTERS))
    for share, axis, why in (
        (quartiles, 0, "the quartiles of each column, as features are scaled by their ranges"),
        (quartiles, 1, "the quartiles of each row, as box plots of groups show"),
        (quartiles, None, "the quartiles of the whole matrix, as of a layer's weights"),
        (EXTREME, 1, "a bound of each row without outliers, as to quantise a channel's weights"),
        (EXTREME, None, "a bound of all without outliers, as to calibrate an activation's range"),
    ):
        fill = reduction_fill(operation.name, shape, reduced_axes(axis))
        yield {"x": tensor(*shape, fill=fill), "share": share, **along_axis(axis), WHY: why}


@FAMILIES.operation("cumulative_trapezoid", "trapezoid")
def integral(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix of samples along each axis, at even steps and at places of their own."""
    rows, columns = square(size)
    for axis, how, why in (
        (1, {"spacing": 0.5}, "rows sampled at even steps, as the area under spectra"),
        (0, {"spacing": 0.5}, "columns sampled at even steps, as doses over time: a row apart"),
        (
            1,
            {"x": fixed(columns, fill=SEQUENCE)},
            "rows sampled at places that all share, as the area under a ROC curve",
        ),
        (
            1,
            {"x": fixed(rows, columns, fill=SEQUENCE)},
            "rows sampled at places of their own, as opacity along a camera's rays",
        ),
    ):
        yield {"y": tensor(rows, columns), **how, "axis": axis, WHY: why}


def runs(count: int, mean: int) -> tuple[int, ...]:
    """Lengths of runs of rows, shorter and longer than their mean in turn."""
    return tuple(mean + (mean // 2 if i % 2 else -(mean // 2)) for i in range(count))


ATOMS = 16
"""Atoms of a small molecule, without hydrogen: those of QM9 have nine, of drugs some thirty."""


@FAMILIES.operation("segment_reduce")
def segment_reduce(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Rows of a batch of graphs, each of which is reduced to one row."""
    lengths = runs(2 * size.extent(128), ATOMS)
    data = tensor(sum(lengths), 64)
    for reduction, why in (
        ("sum", "the atoms of each molecule summed, as a graph network predicts an energy"),
        ("mean", "the atoms of each molecule averaged, as a graph network's usual readout"),
        ("max", "the greatest of each feature over a graph's nodes, as PointNet's pooling"),
    ):
        yield {
            "data": data,
            "lengths": fixed(len(lengths), fill=literal(lengths), dtype="int64"),
            "reduction": reduction,
            WHY: why,
        }


WEIGHTED: dict[int | None, str] = {
    0: "a weight for each element of the columns, as of samples in a survey",
    1: "a weight for each element of the rows, as of forecasts that are combined",
    None: "a weight for each element of the whole, as a loss that leaves out padding",
}
"""Why a weighted mean is computed along an axis, or along all."""


@FAMILIES.operation("average")
def average(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix with a weight for each element along each axis, and one without weights."""
    for axis, why in WEIGHTED.items():
        weights = tensor(*square(size), fill=POSITIVE)
        yield {"x": tensor(*square(size)), **along_axis(axis), "weights": weights, WHY: why}
    yield {"x": tensor(*square(size)), WHY: "no weights: the plain mean"}


@FAMILIES.operation("trace")
def trace(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and a stack of matrices."""
    several = "a trace for each element of the last axis, over the first two: adjacent elements"
    yield {"x": tensor(*square(size)), WHY: "a trace, as the total variance of a covariance matrix"}
    yield {"x": tensor(*cube(size)), WHY: several}


@FAMILIES.operation("difference")
def difference(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, for differences along each axis and for second differences, and a vector."""
    for order, axis, why in (
        (1, 0, "each row less the last, as the changes of many series in a time step"),
        (1, 1, "neighbours in each row, as the horizontal gradient of a picture"),
        (2, 1, "second differences in each row, as the curvature of signals: two passes"),
    ):
        yield {"x": tensor(*square(size)), "order": order, "axis": axis, WHY: why}
    yield {"x": tensor(*vector(size)), WHY: "one long series, as the changes of a price"}
