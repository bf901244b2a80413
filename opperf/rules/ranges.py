"""Keeps indices in range of the tensors that they index, for shapes that a user sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral
from typing import Any, TypeGuard

import msgspec

from opperf.dtypes import kind_of
from opperf.model import Fill, TensorSpec
from opperf.rules.values import below

Shape = tuple[int, ...]

COUNTED = ("permutation", "sequence")
"""Distributions of the numbers from 0 to n - 1 along an axis of extent n, mostly indices."""

NARROW = ("int8", "uint8")
"""Dtypes of quantised numbers and pictures, which index nothing."""


def is_shape(value: Any) -> TypeGuard[Shape]:
    """Whether a value is a shape: a tuple of whole numbers."""
    return isinstance(value, tuple) and all(
        isinstance(extent, Integral) and not isinstance(extent, bool) for extent in value
    )


def shapes_by_place(inputs: Mapping[str, Any]) -> dict[str, Shape]:
    """Shapes of inputs, by argument; those of a list as `data.0`, `data.1` ..."""
    found: dict[str, Shape] = {}
    for name, value in inputs.items():
        if is_shape(value):
            found[name] = value
        elif hasattr(value, "shape") and not isinstance(value, type):
            # NumPy's dtypes are types of numbers, which have a shape.
            found[name] = tuple(value.shape)
        elif isinstance(value, (list, tuple)):
            elements = {f"{name}.{i}": element for i, element in enumerate(value)}
            found |= shapes_by_place(elements)
    return found


def limit_at(place: str, shapes: Mapping[str, Shape]) -> int | None:
    """The exclusive limit of indices at a place; None where there is no other shape.

    It is the smallest extent of any other shape, as it is unknown which is indexed, and along which
    axis. Shapes of a single element count only if there are no others.
    """
    others = [shape for other, shape in shapes.items() if other != place and shape]
    several = [shape for shape in others if math.prod(shape) > 1]
    return min((min(shape) for shape in several or others), default=None)


def in_range(known: TensorSpec, shape: Shape, limit: int | None) -> TensorSpec:
    """The tensor in another shape, with its whole numbers below the limit.

    The fill stays the same, but for literal data, which another shape replaces by random numbers.
    """
    fill = known.fill
    if fill.distribution == "literal" and shape != known.shape:
        fill = Fill()
    elif limit is not None and known.dtype not in NARROW:
        if fill.distribution == "integers":
            highest = max(fill.low + 1, min(fill.high, limit))
            fill = Fill("integers", float(fill.low), float(highest))
        elif fill.distribution in COUNTED and _indexes(known) and shape and shape[-1] > limit:
            fill = below(max(1, limit))
    return msgspec.structs.replace(reshaped(known, shape), fill=fill)


def reshaped(spec: TensorSpec, shape: Shape) -> TensorSpec:
    """The tensor in another shape, contiguous and with a storage of its own, as strides and offset
    are those of one shape; in its own shape unchanged."""
    if shape == spec.shape:
        return spec
    return msgspec.structs.replace(spec, shape=shape, strides=(), offset=0, storage="")


def _indexes(spec: TensorSpec) -> bool:
    """Whether a tensor of one of the distributions `COUNTED` holds indices."""
    return spec.layout == "dense" and kind_of(spec.dtype) == "integer"
