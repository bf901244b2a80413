"""Sorting and searching."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import Families
from opperf.rules.shapes import shapes, square, tall, vector, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, below, fixed, tensor

FAMILIES = Families()

INDEX = "int32"
"""Dtype of indices that come out: float16, which may be requested, counts to 2048 only."""


@FAMILIES.add("sort")
def sort(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Along the last axis, and the first."""
    for shape, axis in zip(shapes(size), (-1, 0, 0), strict=True):
        yield {"data": tensor(*shape), "axis": axis}


@FAMILIES.add("argsort")
def argsort(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Along the last axis, and the first."""
    for shape, axis in zip(shapes(size), (-1, 0, 0), strict=True):
        yield {"data": fixed(*shape), "axis": axis, "dtype": INDEX}


@FAMILIES.add("topk")
def topk(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Few of many, in every form the operator gives them in, and along the first axis."""
    for form in ("indices", "value", "both", "mask"):
        yield {
            "data": tensor(*square(size)),
            "k": size.extent(10, least=2),
            "ret_typ": form,
            "dtype": INDEX,
        }
    yield {"data": tensor(*tall(size)), "k": 1, "axis": 0, "ret_typ": "value", "dtype": INDEX}


@FAMILIES.add("argmax", "argmin", "_npi_argmax", "_npi_argmin")
def extremes(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Along the first axis and the last."""
    for shape, axis in zip(shapes(size), (0, 0, 1), strict=True):
        yield {"data": fixed(*shape), "axis": axis}


@FAMILIES.add("argmax_channel")
def argmax_channel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The class with the highest score of each row."""
    for shape in wide(size):
        yield {"data": fixed(*shape)}


@FAMILIES.add("_npi_unique")
def unique(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Few distinct values among many elements."""
    yield {"data": fixed(*vector(size), fill=below(size.extent(1000)))}
