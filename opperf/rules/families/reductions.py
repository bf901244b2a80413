"""Reductions and accumulations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Argument
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.domains import reduction_fill
from opperf.rules.engine import Families
from opperf.rules.pictures import feature_maps
from opperf.rules.shapes import Shape, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, fixed, tensor

FAMILIES = Families()

AXES = (0, 1, None)
"""The first axis, the second, and all of them."""

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


WHOLE = "The whole matrix to one number, as a loss or a norm"


def along_one(size: Preset) -> tuple[Reduced, ...]:
    """Shapes, each with one axis or none: one matrix along the first, the second and both, which
    shows the cost of memory order; a shape of as many elements along the first as well; and tokens
    along the last."""
    return (
        Reduced(square(size), 0, "Columns: the stride between elements is that of a row"),
        Reduced(square(size), 1, "Rows: elements are adjacent in memory"),
        Reduced(square(size), None, WHOLE),
        Reduced(tall(size), 0, "Long columns, as the gradient of a dense layer's bias"),
        Reduced(few_sentences(size), 2, "BERT-base's tokens, each by its vector, as LayerNorm"),
    )


def reduced_shapes(size: Preset) -> tuple[Reduced, ...]:
    """Those of `along_one`, and feature maps along all axes but the channels'."""
    return (
        *along_one(size),
        Reduced(feature_maps(size), (0, 2, 3), "Channels of feature maps, as BatchNorm does"),
    )


def reduced_axes(axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The axes as a tuple; an empty one means all."""
    if axis is None:
        return ()
    return axis if isinstance(axis, tuple) else (axis,)


@FAMILIES.operation(
    *("all", "any", "count_nonzero", "cumprod", "cumsum", "max", "mean", "median", "min"),
    *("nanprod", "nansum", "prod", "ptp", "std", "sum", "var"),
)
def reduction(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The tensors of `reduced_shapes`, or of `along_one` for what takes one axis alone, with fills
    that suit the reduction."""
    several = operation.inputs["axis"] == "axes"
    for shape, axis, why in reduced_shapes(size) if several else along_one(size):
        fill = reduction_fill(operation.name, shape, reduced_axes(axis))
        yield {"x": tensor(*shape, fill=fill), **along_axis(axis), WHY: why}


@FAMILIES.operation("argmax", "argmin")
def extremes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The tensors of `along_one`, and scores of each pixel's class, without a gradient, which
    indices do not have."""
    for shape, axis, why in along_one(size):
        yield {"x": fixed(*shape), **along_axis(axis), WHY: why}
    scores = feature_maps(size, CLASSES)
    yield {"x": fixed(*scores), "axis": 1, WHY: "The class of each pixel, as in segmentation"}


@FAMILIES.operation("average")
def average(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix with a weight for each element along each axis, and one without weights."""
    for axis in AXES:
        weights = tensor(*square(size), fill=POSITIVE)
        yield {"x": tensor(*square(size)), **along_axis(axis), "weights": weights}
    yield {"x": tensor(*square(size))}


@FAMILIES.operation("trace")
def trace(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and a stack of matrices."""
    yield {"x": tensor(*square(size))}
    yield {"x": tensor(*cube(size))}


@FAMILIES.operation("difference")
def difference(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, for differences along each axis and for second differences, and a vector."""
    for order, axis in ((1, 0), (1, 1), (2, 1)):
        yield {"x": tensor(*square(size)), "order": order, "axis": axis}
    yield {"x": tensor(*vector(size))}
