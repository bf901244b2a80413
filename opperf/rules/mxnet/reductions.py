"""Operators that reduce a tensor along axes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.families.reductions import along_one, reduced_axes, reduced_shapes
from opperf.rules.mxnet.sparse_tensors import OWN, differentiated, rows
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, tensor

FAMILIES = Families()


Axes = tuple[int, ...]

MOMENTS = (
    "the mean and variance of columns, as BatchNorm after a dense layer",
    "the mean and variance of rows: elements are adjacent in memory",
    "the mean and variance of a whole tensor, as to standardise a target",
    "the mean and variance of long columns, as to standardise the features of a table",
    "the mean and variance of each token's vector, as LayerNorm does",
    "the mean and variance of each sentence's tokens, the middle axis, as statistics pooling",
    "the mean and variance of channels of feature maps, as BatchNorm does",
)
"""Why moments are computed, in the order of `reduced_shapes`."""

NORMS = {
    2: (
        "Euclidean norms of columns, as weight normalisation computes for each unit",
        "Euclidean norms of rows, as of embeddings before a cosine similarity",
        "one Euclidean norm, as of a gradient that is to be clipped",
        "Euclidean norms of long columns, as to scale the features of a table",
        "Euclidean norms of each token's vector, as RMSNorm computes",
        "Euclidean norms of each feature over a sentence's tokens, the middle axis",
    ),
    1: (
        "sums of magnitudes of columns, of which a matrix's 1-norm is the greatest",
        "sums of magnitudes of rows, as to rank filters that are to be pruned",
        "one sum of magnitudes, as the penalty of a lasso",
        "sums of magnitudes of long columns, as the penalty of each feature of a group lasso",
        "sums of magnitudes of each token's vector, as a measure of its sparsity",
        "sums of magnitudes of each feature over a sentence's tokens, the middle axis",
    ),
}
"""Why norms are computed, by their order, in the order of `along_one`."""


@FAMILIES.add("moments")
def moments(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The tensors of `reduced_shapes` with extents half as long, as this operator takes ten times
    as long as a mean. It does not accept an empty list for all axes."""
    halved = replace(size, scale=size.scale / 2)
    for (shape, axis, _), why in zip(reduced_shapes(halved), MOMENTS, strict=True):
        axes = reduced_axes(axis) or tuple(range(len(shape)))
        yield {"data": tensor(*shape), "axes": axes, WHY: why}


@FAMILIES.add("norm")
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The tensors of `along_one`, for the norms of order 2 and 1."""
    for order, whys in NORMS.items():
        for shape, axis, why in along_one(size, whys):
            yield {
                operator.tensors[0].name: tensor(*shape),
                "ord": order,
                "axis": reduced_axes(axis),
                WHY: why,
            }


@FAMILIES.add("_square_sum")
def square_sum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row-sparse matrix, reduced along each axis; the operator takes no dense one."""
    for axis, why in (
        (0, "squares summed in each column of an embedding's gradient, whose rows are few"),
        (1, "squares summed in each row of an embedding's gradient, as GroupAdaGrad does"),
    ):
        yield {
            "data": differentiated(rows(size), OWN),
            "axis": (axis,),
            "keepdims": axis == 1,
            WHY: why,
        }
