"""Operators that reduce a tensor along axes."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.mxnet.sparse import OWN, differentiated, rows
from opperf.rules.registering import Families
from opperf.rules.shapes import wide
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, tensor

FAMILIES = Families()


Axes = tuple[int, ...]

AXES: tuple[Axes, ...] = ((0,), (1,), ())
"""The first axis, the second, and both."""

NORMS = {
    2: (
        "Euclidean norms of columns, as weight normalisation computes for each unit",
        "Euclidean norms of very short rows, as distances between points",
        "one Euclidean norm, as of a gradient that is to be clipped",
    ),
    1: (
        "sums of magnitudes of columns, of which a matrix's 1-norm is the greatest",
        "sums of magnitudes of very short rows, as Manhattan distances between points",
        "one sum of magnitudes, as the penalty of a lasso",
    ),
}
"""Why norms are computed, by their order, for each of `AXES`."""


def axis_argument(operator: Operator, axes: Axes) -> Arguments:
    """The axis argument; an empty tuple means all axes. In `mx.np` an empty list means no axis, so
    that the argument is omitted."""
    return {"axis": axes} if axes or not operator.name.startswith("_np") else {}


@FAMILIES.add("moments")
def moments(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, reduced along the first axis, the second and both. This operator does not accept an
    empty list for all axes."""
    reduced: tuple[tuple[Axes, str], ...] = (
        ((0,), "the mean and variance of columns, as BatchNorm after a dense layer"),
        ((1,), "the mean and variance of very short rows, as of small groups of features"),
        ((0, 1), "the mean and variance of a whole tensor, as to standardise a target"),
    )
    for shape, (axes, why) in zip(wide(size), reduced, strict=True):
        yield {"data": tensor(*shape), "axes": axes, WHY: why}


@FAMILIES.add("norm")
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, for the norms of order 1 and 2 along the first axis, the second and both."""
    for order, whys in NORMS.items():
        for shape, axes, why in zip(wide(size), AXES, whys, strict=True):
            yield {
                operator.tensors[0].name: tensor(*shape),
                "ord": order,
                **axis_argument(operator, axes),
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
