"""Reductions and accumulations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from opperf.model import Argument, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import few_sentences, heads, scores
from opperf.rules.configurations import ROWS, TAGS, WHY
from opperf.rules.detectors import LABELS
from opperf.rules.domains import DECIDED_BY_ONE, WHOLE_DTYPE, reduction_fill
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import PADDED, POSITIVE, REQUESTED, SEQUENCE, fixed, literal, tensor

FAMILIES = Families()


def along_axis(axis: int | tuple[int, ...] | None) -> dict[str, Argument]:
    """The axis argument, omitted for all axes."""
    return {} if axis is None else {"axis": axis}


class Reduced(NamedTuple):
    """A shape, the axis or axes that it is reduced along, and why that is measured."""

    shape: Shape
    axis: int | tuple[int, ...] | None
    why: str

    @property
    def notes(self) -> Roles:
        """Why that is measured, and whether it is of the rows of a matrix."""
        of_rows = len(self.shape) == 2 and self.axis == 1
        return {WHY: self.why, TAGS: (ROWS,) if of_rows else ()}


REDUCED = (
    "each column, as a feature over samples: its elements are a row apart in memory",
    "each row, as the features of a sample: its elements are adjacent in memory",
    "the whole matrix to one number",
    "long columns of a narrow matrix, as the features of many samples",
    "the last of four axes: many short rows",
    "the middle of three axes, as the time steps of each sequence: a short row apart",
)
"""Why tensors are reduced, in the order of `along_one`: true of sums, extremes and conditions."""

ACCUMULATED = (
    "down each column, as many series in step: each row with the last one's results",
    "along each row, as separate series: elements are adjacent in memory",
    "the whole matrix as one vector: a single chain of results",
    "down long columns, as a few long series side by side",
)
"""Why tensors are accumulated, in the same order; other shapes take as long for an element."""

SEARCHED = (
    "each column, as the extreme sample of each feature: elements are a row apart in memory",
    "each row, as the choice for each sample by score or cost: elements are adjacent in memory",
    "the whole matrix, as the best point of a grid search",
    "long columns, as the best of many candidates for each of a few",
    "the last of four axes: one index for each of many short rows",
    "the middle of three axes, as the time step of each feature's extreme",
)
"""Why the indices of extreme elements are searched for, in the same order."""

CHECKED = (
    "the parity of each column, like that of blocks on several disks: words a row apart in memory",
    "the parity of each row, as its check word: words adjacent in memory",
    "the whole matrix to one check word",
    "the parity of long columns, like that of many packets: a short row apart",
    "the last of four axes: the check words of many short rows",
    "the middle of three axes, as the parity of each group of packets",
)
"""Why exclusive ors are reduced, in the same order."""

WHYS = {
    "exclusive_or": CHECKED,
    **dict.fromkeys(("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"), ACCUMULATED),
    **dict.fromkeys(("argmax", "argmin"), SEARCHED),
}
"""Why tensors are measured with an operation, where that is not `REDUCED`."""


def whys_of(name: str) -> tuple[str, ...]:
    """Why tensors are measured with an operation, one that ignores NaN or not."""
    return WHYS.get(name.removeprefix("nan"), REDUCED)


def along_one(size: Preset, whys: tuple[str, ...] = REDUCED) -> tuple[Reduced, ...]:
    """Shapes, each with one axis or none: a matrix along each and both, for the cost of memory
    order; a narrow one along the first, heads along the last and tokens along the middle; as many
    as there are lines of why."""
    shapes = *[square(size)] * 3, tall(size), heads(size), few_sentences(size)
    rows = zip(shapes, (0, 1, None, 0, 3, 1), whys, strict=False)
    return tuple(Reduced(*row) for row in rows)


def reduced_shapes(size: Preset) -> tuple[Reduced, ...]:
    """Those of `along_one`, and feature maps along all axes but the channels'."""
    return (
        *along_one(size),
        Reduced(feature_maps(size), (0, 2, 3), "each channel, over images and pixels"),
    )


MASKED = {
    "all": (
        "whether all of BERT-base's attention scores are finite: a byte for each",
        "whether all keys of a query are masked, as a safe softmax asks: short rows of booleans",
    ),
    "any": (
        "whether any of BERT-base's attention scores has overflowed: a byte for each",
        "whether a query has any key that is masked: short rows of booleans",
    ),
    "count_nonzero": (
        "the keys that all queries of BERT-base see: a byte for each pair",
        "the keys that each query of BERT-base sees: short rows of booleans",
    ),
}
"""Why functions of truth reduce booleans in the shape of attention scores, all and along keys."""


def reduced_axes(axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The axes as a tuple; an empty one means all."""
    if axis is None:
        return ()
    return axis if isinstance(axis, tuple) else (axis,)


@FAMILIES.operation(
    *("all", "any", "count_nonzero", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"),
    *("exclusive_or", "logsumexp", "lower_median", "lower_nanmedian", "max", "mean", "median"),
    *("min", "min_and_max", "mode", "moments", "nanmean", "nanprod", "nansum", "prod", "ptp"),
    *("std", "sum", "var"),
)
def reduction(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The tensors of `reduced_shapes`, or of `along_one` for what takes one axis."""
    several = operation.inputs["axis"] == "axes" and operation.name not in WHYS
    one_axis = along_one(size, whys_of(operation.name))
    masked = MASKED.get(operation.name, ())
    for reduced in reduced_shapes(size) if several else one_axis:
        if masked and reduced.axis == 3:
            continue
        fill = reduction_fill(operation.name, reduced.shape, reduced_axes(reduced.axis))
        # Numbers are compared with zero first: one case of them.
        dtype = "bool" if masked and reduced.axis is not None else REQUESTED
        dtype = WHOLE_DTYPE if operation.name == "exclusive_or" else dtype
        x = tensor(*reduced.shape, fill=fill, dtype=dtype)
        yield {"x": x, **along_axis(reduced.axis), **reduced.notes}
    for axis, why in zip((None, 3), masked, strict=False):
        shape = scores(size)
        decided = operation.name in DECIDED_BY_ONE
        fill = reduction_fill(operation.name, shape, reduced_axes(axis)) if decided else PADDED
        yield {"x": fixed(*shape, fill=fill, dtype="bool"), **along_axis(axis), WHY: why}


@FAMILIES.operation("argmax", "argmin")
def extremes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The tensors of `along_one`, and scores of each pixel's class, without a gradient."""
    for reduced in along_one(size, whys_of(operation.name)):
        yield {"x": fixed(*reduced.shape), **along_axis(reduced.axis), **reduced.notes}
    scores = feature_maps(size, LABELS)
    yield {"x": fixed(*scores), "axis": 1, WHY: "the label of each pixel, by score or cost"}


QUARTERS = (0.25, 0.5, 0.75)

EXTREME = 0.99
"""Share of the elements that a range is to hold where a few outliers are cut off."""

WHYS_OF_QUANTILES = {
    "quantile": (
        "the quartiles of each column, as features are scaled by their ranges",
        "the quartiles of each row, as box plots of groups show",
        "the quartiles of the whole matrix: a layer's weights",
        "a bound of each row without outliers, as to quantise a channel's weights",
        "a bound of all without outliers, as to calibrate an activation's range",
    ),
    "nanquantile": (
        "the quartiles of each column, as features with missing values are described",
        "the quartiles of each row, as box plots of sensors with gaps show",
        "the quartiles of a whole matrix, as an image's range without its clouds",
        "a bound of each row without outliers, as the flood level of a gauge with gaps",
        "a bound of all without outliers, as an image is stretched without its clouds",
    ),
}
"""Why quartiles and one share are computed, of whole data and of data with missing values."""


@FAMILIES.operation("quantile", "nanquantile")
def quantile(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix for its quartiles along each axis and along all, and for one share, a number."""
    shape = square(size)
    quartiles = fixed(len(QUARTERS), fill=literal(QUARTERS))
    shares_and_axes: tuple[tuple[Argument, int | None], ...] = (
        *((quartiles, axis) for axis in (0, 1, None)),
        *((EXTREME, axis) for axis in (1, None)),
    )
    for (share, axis), why in zip(shares_and_axes, WHYS_OF_QUANTILES[operation.name], strict=True):
        fill = reduction_fill(operation.name, shape, reduced_axes(axis))
        yield {"x": tensor(*shape, fill=fill), "share": share, **along_axis(axis), WHY: why}


@FAMILIES.operation("cumulative_trapezoid", "trapezoid")
def integral(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix of samples along each axis, at even steps and at places of their own."""
    rows, columns = square(size)
    for axis, how, why in (
        (1, {"spacing": 0.5}, "rows sampled at even steps, as the area under spectra"),
        (0, {"spacing": 0.5}, "columns sampled at even steps, as doses over time: a row apart"),
        (1, {"x": fixed(columns, fill=SEQUENCE)}, "rows sampled at shared places, as ROC curves"),
        (1, {"x": fixed(rows, columns, fill=SEQUENCE)}, "places of their own, as a camera's rays"),
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
    counts = fixed(len(lengths), fill=literal(lengths), dtype="int64")
    made = {"data": tensor(sum(lengths), 64), "lengths": counts}
    for reduction, why in (
        ("sum", "the atoms of each molecule summed, as a graph network predicts an energy"),
        ("max", "the maximum of each feature over a graph's nodes, as PointNet's pooling"),
    ):
        yield {**made, "reduction": reduction, WHY: why}


def percentages(share: Argument) -> Argument:
    """A share, or a tensor of several, in hundredths."""
    if isinstance(share, TensorSpec):
        several = [100 * quarter for quarter in QUARTERS]
        return msgspec.structs.replace(share, fill=literal(several))
    return 100 * EXTREME


WEIGHTED: dict[int | None, str] = {
    0: "a weight for each element of the columns, like that of samples in a survey",
    1: "a weight for each element of the rows, like that of forecasts that are combined",
    None: "a weight for each element of the whole, as a loss weighted by class",
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
        (1, 1, "neighbours in each row, for the horizontal gradient of an image"),
        (2, 1, "second differences in each row, as the curvature of signals"),
    ):
        yield {"x": tensor(*square(size)), "order": order, "axis": axis, WHY: why}
    yield {"x": tensor(*vector(size)), WHY: "one long series, as the changes of a price"}
