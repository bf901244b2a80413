"""Tensors that are views of others: transposed, and with elements that are not adjacent."""

from __future__ import annotations

from opperf.model import TensorSpec
from opperf.rules.shapes import Shape
from opperf.rules.values import REQUESTED

STEP = 2
"""Distance of the elements of a strided tensor: every other one."""


def transposed(shape: Shape, storage: str = "", gradient: bool = False) -> TensorSpec:
    """`a.T` of this shape, of a contiguous `a`."""
    rows, columns = shape
    return TensorSpec(
        (rows, columns), REQUESTED, strides=(1, rows), storage=storage, gradient=gradient
    )


def every_other_column(shape: Shape, gradient: bool = False) -> TensorSpec:
    """`a[:, ::2]` of this shape."""
    rows, columns = shape
    return TensorSpec((rows, columns), REQUESTED, strides=(columns * STEP, STEP), gradient=gradient)
