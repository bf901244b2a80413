"""Operators that reduce a tensor along axes."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import Families
from opperf.rules.mxnet.sparse import OWN, differentiated, rows
from opperf.rules.shapes import wide
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, tensor

FAMILIES = Families()


Axes = tuple[int, ...]

AXES: tuple[Axes, ...] = ((0,), (1,), ())
"""The first axis, the second, and both."""


def axis_argument(operator: Operator, axes: Axes) -> Arguments:
    """The axis argument; an empty tuple means all axes. In `mx.np` an empty list means no axis, so
    that the argument is omitted."""
    return {"axis": axes} if axes or not operator.name.startswith("_np") else {}


@FAMILIES.add("moments")
def moments(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, reduced along the first axis, the second and both. This operator does not accept an
    empty list for all axes."""
    for shape, axes in zip(wide(size), ((0,), (1,), (0, 1)), strict=True):
        yield {"data": tensor(*shape), "axes": axes}


@FAMILIES.add("norm")
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, for the norms of order 1 and 2 along the first axis, the second and both."""
    for order in (2, 1):
        for shape, axes in zip(wide(size), AXES, strict=True):
            yield {
                operator.tensors[0].name: tensor(*shape),
                "ord": order,
                **axis_argument(operator, axes),
            }


@FAMILIES.add("_square_sum")
def square_sum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row-sparse matrix, reduced along each axis; the operator takes no dense one."""
    for axis in (0, 1):
        yield {
            "data": differentiated(rows(size), OWN),
            "axis": (axis,),
            "keepdims": axis == 1,
        }
