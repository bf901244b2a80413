"""Operators that reduce a tensor along axes."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.domains import reduced
from opperf.rules.engine import Families
from opperf.rules.mxnet.names import base_name
from opperf.rules.mxnet.operations.reductions import OF_NUMPY
from opperf.rules.shapes import square, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, tensor

FAMILIES = Families()


Axes = tuple[int, ...]

AXES: tuple[Axes, ...] = ((0,), (1,), ())
"""The axes of each configuration: the first, the second, all of them."""


def given(operator: Operator, axes: Axes) -> Arguments:
    """The axis argument. NumPy's operators take no axes to mean none, so all is the argument
    left out."""
    return {"axis": axes} if axes or not operator.name.startswith("_np") else {}


@FAMILIES.add(*OF_NUMPY)
def reduction(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Along the first axis, the second, and both."""
    data = operator.tensors[0].name
    base = base_name(operator.name)
    for shape, axes in zip(wide(size), AXES, strict=True):
        yield {data: tensor(*shape, fill=reduced(base, shape, axes)), **given(operator, axes)}


@FAMILIES.add("moments")
def moments(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Mean and variance along the first axis, the second and both, all of them named: this
    operator alone does not take none to mean all."""
    for shape, axes in zip(wide(size), ((0,), (1,), (0, 1)), strict=True):
        yield {"data": tensor(*shape), "axes": axes}


@FAMILIES.add("norm")
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The norms of order 1 and 2, along the first axis, the second and both."""
    for order in (2, 1):
        for shape, axes in zip(wide(size), AXES, strict=True):
            yield {
                operator.tensors[0].name: tensor(*shape),
                "ord": order,
                **given(operator, axes),
            }


@FAMILIES.add("_square_sum")
def square_sum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows of a row-sparse matrix; the operator has no dense form."""
    for axis in (0, 1):
        yield {
            "data": tensor(*square(size), layout="row_sparse"),
            "axis": (axis,),
            "keepdims": axis == 1,
        }


@FAMILIES.add("_np_trace", "_npi_trace")
def trace(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The sum of the diagonal."""
    for shape in wide(size):
        yield {"data": tensor(*shape)}


@FAMILIES.add("cumsum")
def cumsum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Running sums along the first axis, the second, and of the matrix as one vector."""
    choices: tuple[dict[str, Argument], ...] = ({"axis": 0}, {"axis": 1}, {})
    for shape, axis in zip(wide(size), choices, strict=True):
        yield {"a": tensor(*shape), **axis}
