"""Reductions and running operations."""

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
    """The axis, omitted for all of them."""
    return {} if axis is None else {"axis": axis}


def reduced_shapes(size: Preset) -> tuple[tuple[Shape, int | None], ...]:
    """One matrix along the first axis, the second and both, which shows the cost of memory order;
    the other shapes along the first."""
    first, *others = shapes(size)
    return (*((first, axis) for axis in AXES), *((shape, 0) for shape in others))


@FAMILIES.operation(
    *("all", "any", "count_nonzero", "cumprod", "cumsum", "max", "mean", "median", "min"),
    *("nanprod", "nansum", "prod", "ptp", "std", "sum", "var"),
)
def reduction(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Along each axis and both of one matrix, and of the other shapes."""
    for shape, axis in reduced_shapes(size):
        fill = reduction_fill(operation.name, shape, () if axis is None else (axis,))
        yield {"x": tensor(*shape, fill=fill), **along_axis(axis)}


@FAMILIES.operation("argmax", "argmin")
def extremes(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """As `reduction`, but without a gradient, which indices do not have."""
    for shape, axis in reduced_shapes(size):
        yield {"x": fixed(*shape), **along_axis(axis)}


@FAMILIES.operation("average")
def average(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """With a weight for each element, and with none."""
    for axis in AXES:
        weights = tensor(*square(size), fill=POSITIVE)
        yield {"x": tensor(*square(size)), **along_axis(axis), "weights": weights}
    yield {"x": tensor(*square(size))}


@FAMILIES.operation("trace")
def trace(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The diagonal of a matrix, and those of a stack of matrices."""
    yield {"x": tensor(*square(size))}
    yield {"x": tensor(*cube(size))}


@FAMILIES.operation("difference")
def difference(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Differences of neighbours in each column and in each row, of those again, and of neighbours
    in a vector."""
    for order, axis in ((1, 0), (1, 1), (2, 1)):
        yield {"x": tensor(*square(size)), "order": order, "axis": axis}
    yield {"x": tensor(*vector(size))}
