"""Operators that reduce a tensor along axes."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Fill, Operator
from opperf.rules.engine import Families
from opperf.rules.mxnet.names import base_name, shapes, square
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, NORMAL, Arguments, between, tensor

FAMILIES = Families()

NEAR_ONE = between(0.999, 1.001)
"""A product of a million of these neither overflows nor vanishes."""

FILLS: dict[str, Fill] = {
    "prod": NEAR_ONE,
    "nanprod": NEAR_ONE,
    "all": BOOLEAN,
    "any": BOOLEAN,
}
"""What fills the tensor, by name without prefix, where normal numbers would not do."""


def axes_of(operator: Operator) -> tuple[Arguments, ...]:
    """The axis argument of each configuration: the first, the second, all of them.

    NumPy's operators take no axes to mean none, so all is the argument left out.
    """
    numpy = operator.name.startswith("_np")
    every: Arguments = {} if numpy else {"axis": ()}
    return ({"axis": (0,)}, {"axis": (1,)}, every)


@FAMILIES.category("reduction")
def reduction(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Along the first axis, the second, and both."""
    data = operator.tensors[0].name
    fill = FILLS.get(base_name(operator.name), NORMAL)
    for shape, axes in zip(shapes(size), axes_of(operator), strict=True):
        yield {data: tensor(*shape, fill=fill), **axes}


@FAMILIES.add("sum", "mean", "max", "min", "prod", "nansum", "nanprod")
def common(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The usual ones along the first axis, the second and both of the same matrix, which
    shows what the order of memory costs, and then of the other shapes."""
    name = operator.tensors[0].name
    fill = FILLS.get(operator.name, NORMAL)
    first, *others = shapes(size)
    for axes in axes_of(operator):
        yield {name: tensor(*first, fill=fill), **axes}
    for shape in others:
        yield {name: tensor(*shape, fill=fill), **axes_of(operator)[0]}


@FAMILIES.add("moments")
def moments(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Mean and variance along the first axis, the second and both, all of them named: this
    operator alone does not take none to mean all."""
    for shape, axes in zip(shapes(size), ((0,), (1,), (0, 1)), strict=True):
        yield {"data": tensor(*shape), "axes": axes}


@FAMILIES.add("norm")
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The norms of order 1 and 2, along the first axis, the second and both."""
    for order in (2, 1):
        for shape, axes in zip(shapes(size), axes_of(operator), strict=True):
            yield {operator.tensors[0].name: tensor(*shape), "ord": order, **axes}


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
    for shape in shapes(size):
        yield {"data": tensor(*shape)}


@FAMILIES.add("cumsum")
def cumsum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Running sums along the first axis, the second, and of the matrix as one vector."""
    choices: tuple[dict[str, Argument], ...] = ({"axis": 0}, {"axis": 1}, {})
    for shape, axis in zip(shapes(size), choices, strict=True):
        yield {"a": tensor(*shape), **axis}
