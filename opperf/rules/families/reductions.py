"""Reductions and accumulations."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.domains import reduction_fill
from opperf.rules.engine import Families
from opperf.rules.shapes import Shape, cube, shapes, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, fixed, tensor

FAMILIES = Families()

AXES = (0, 1, None)
"""The first axis, the second, and all of them."""


def along_axis(axis: int | None) -> dict[str, Argument]:
    """The axis argument, omitted for all axes."""
    return {} if axis is None else {"axis": axis}


def reduced_shapes(size: Preset) -> tuple[tuple[Shape, int | None], ...]:
    """Shapes, each with an axis: one matrix along the first, the second and both, which shows the
    cost of memory order, and the other shapes along the first."""
    first, *others = shapes(size)
    return (*((first, axis) for axis in AXES), *((shape, 0) for shape in others))


@FAMILIES.operation(
    *("all", "any", "count_nonzero", "cumprod", "cumsum", "max", "mean", "median", "min"),
    *("nanprod", "nansum", "prod", "ptp", "std", "sum", "var"),
)
def reduction(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The tensors of `reduced_shapes`, with fills that suit the reduction."""
    for shape, axis in reduced_shapes(size):
        fill = reduction_fill(operation.name, shape, () if axis is None else (axis,))
        yield {"x": tensor(*shape, fill=fill), **along_axis(axis)}


@FAMILIES.operation("argmax", "argmin")
def extremes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The tensors of `reduced_shapes`, without a gradient, which indices do not have."""
    for shape, axis in reduced_shapes(size):
        yield {"x": fixed(*shape), **along_axis(axis)}


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
