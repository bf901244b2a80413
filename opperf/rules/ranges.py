"""Keeps indices in range of the tensors that they index, for shapes that a user sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple, TypeGuard

import msgspec

from opperf.dtypes import kind_of
from opperf.model import Fill, TensorSpec
from opperf.rules.bounds import Bounds
from opperf.rules.values import BELOW, below, different, up_to_limit

Shape = tuple[int, ...]

COUNTED = ("permutation", "sequence")
"""Distributions of the numbers from 0 to n - 1 along an axis of extent n, mostly indices."""

NARROW = ("int8", "uint8")
"""Dtypes of quantised numbers and images, which index nothing."""


def is_shape(value: Any) -> TypeGuard[Shape]:
    """Whether a value is a shape: a tuple of integers."""
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
            found |= shapes_by_place({f"{name}.{i}": element for i, element in enumerate(value)})
    return found


class Limit(NamedTuple):
    """The exclusive limit of integers, and whether it is that of the axis that they index."""

    value: int | None
    is_exact: bool = False


def limit_of(
    place: str, arguments: Mapping[str, Any], shapes: Mapping[str, Shape], bounds: Bounds
) -> Limit:
    """The limit of the numbers at a place of a call: by bounds, else by all inputs' shapes."""
    if bounds.is_free(place):
        return Limit(None)
    found = bounds.limit(place, arguments)
    return Limit(limit_at(place, shapes)) if found is None else Limit(found, True)


def limit_at(place: str, shapes: Mapping[str, Shape]) -> int | None:
    """The exclusive limit of indices at a place; None where there is no other shape.

    It is the smallest extent of any other shape, as it is unknown which is indexed, and along which
    axis. Shapes of a single element count only if there are no others.
    """
    others = [shape for other, shape in shapes.items() if other != place and shape]
    several = [shape for shape in others if math.prod(shape) > 1]
    return min((min(shape) for shape in several or others), default=None)


def in_range(
    known: TensorSpec, shape: Shape, limit: int | None, is_exact: bool = False
) -> TensorSpec:
    """The tensor in another shape, with its integers below the limit. `is_exact`: whether the
    limit is that of the axis which they index, all of which they are drawn from.

    The fill stays the same, but for literal data, which another shape replaces: integers in
    order by such numbers, others by random ones.
    """
    fill = known.fill
    if fill.distribution == "literal" and shape != known.shape:
        fill = _in_place_of(known, shape, limit)
    elif limit is not None and known.dtype not in NARROW:
        if fill.distribution in BELOW:
            most = limit if is_exact else min(fill.high, limit)
            fill = up_to_limit(fill, float(max(fill.low + 1, most)))
        elif fill.distribution in COUNTED and _indexes(known) and shape:
            fill = _counted(known, shape, limit, is_exact)
    return msgspec.structs.replace(reshaped(known, shape), fill=fill)


MOST_PERMUTED = 1 << 24
"""Most numbers that are shuffled for indices which are all different: 128 MiB of them."""


def _counted(known: TensorSpec, shape: Shape, limit: int, is_exact: bool) -> Fill:
    """Numbers in order or shuffled, below the limit; drawn ones where that has too few."""
    if different(known.fill, shape[-1]) > limit:
        return below(max(1, limit))
    if not is_exact or known.fill.distribution != "permutation" or shape == known.shape:
        return known.fill
    if shape[-1] == limit:
        return Fill("permutation")
    shuffled = math.prod(shape[:-1]) * limit
    return below(limit) if shuffled > MOST_PERMUTED else Fill("permutation", 0.0, float(limit))


def _in_place_of(known: TensorSpec, shape: Shape, limit: int | None) -> Fill:
    """The fill of a tensor whose data were literal, in another shape."""
    data = known.fill.data
    flat = [data] if not isinstance(data, list) else data
    whole = all(type(number) is int and number >= 0 for number in flat)
    if not flat or not whole or not _indexes(known):
        return Fill()
    if len(shape) == 1 and flat == sorted(flat) and (limit is None or shape[0] <= limit):
        return Fill("sequence")
    return below(max(1, max(flat) + 1 if limit is None else limit))


def reshaped(spec: TensorSpec, shape: Shape) -> TensorSpec:
    """The tensor in another shape, contiguous, in a storage of its own; in its own unchanged."""
    if shape == spec.shape:
        return spec
    return msgspec.structs.replace(spec, shape=shape, strides=(), offset=0, storage="")


def _indexes(spec: TensorSpec) -> bool:
    """Whether a tensor of one of the distributions `COUNTED` holds indices."""
    return spec.layout == "dense" and kind_of(spec.dtype) == "integer"
