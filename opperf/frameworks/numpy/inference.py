"""Shapes of outputs that are known without a call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from opperf.frameworks.numpy import functions
from opperf.model import Case, OperatorTarget

Shape = tuple[int, ...]


def output_shapes(case: Case) -> list[Shape] | None:
    """Returns the shapes of a case's outputs where arithmetic is enough: for ufuncs, for functions
    that make an array of a shape, for outer products; else None."""
    if not isinstance(case.target, OperatorTarget):
        return None
    function = functions.function_of(case.target)
    inputs = [spec.shape for _, spec in case.tensors()]
    if isinstance(function, np.ufunc) and function.signature is None:
        try:
            return [np.broadcast_shapes(*inputs)] * function.nout
        except ValueError:
            # NumPy's own refusal is the better message.
            return None
    if case.target.name in OF_TWO and len(inputs) == PAIR:
        return [OF_TWO[case.target.name](*inputs)]
    for name in SHAPE_ARGUMENTS:
        shape = case.arguments.get(name)
        if not inputs and isinstance(shape, tuple):
            extents = [extent for extent in shape if isinstance(extent, int)]
            return [tuple(extents)]
    return None


def kronecker(left: Shape, right: Shape) -> Shape:
    """Returns the shape of a Kronecker product: extents multiplied, from the last axis on."""
    axes = max(len(left), len(right))
    padded = ((1,) * (axes - len(shape)) + shape for shape in (left, right))
    return tuple(a * b for a, b in zip(*padded, strict=True))


OF_TWO: Mapping[str, Callable[[Shape, Shape], Shape]] = {
    "outer": lambda left, right: (math.prod(left), math.prod(right)),
    "kron": kronecker,
}
"""Functions whose output has an element for each pair of two arrays' elements, far more than
either has."""

PAIR = 2
"""Number of their arrays, without an output."""

SHAPE_ARGUMENTS = ("shape", "size")
"""Arguments that are the output's shape, of functions that take no array."""
