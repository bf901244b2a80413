"""Indices of maxima in maps that were pooled, each inside the window of its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.dependencies import Asked, Rule, Rules, Unfit, rules_of
from opperf.rules.shapes import Shape
from opperf.rules.values import Arguments, MapAxis, fixed, windows

INDEX = "int64"
"""Dtype of the indices of maxima."""

Axes = Callable[[Asked, Shape], list[MapAxis]]
"""Returns the axes of the map from a call and the extents of its pooled map."""


def _spatial(shape: Shape, axes: int) -> Shape:
    """Returns the spatial extents of a map. Raises `Unfit`."""
    if len(shape) < axes:
        raise Unfit
    return shape[-axes:]


def sliding(asked: Asked, pooled: Shape) -> list[MapAxis]:
    """Returns the axes of a map under a window that moves by a stride."""
    sides = _spatial(asked.tensor("self").shape, len(pooled))
    kernel = asked.numbers("kernel_size")
    stride = asked.numbers("stride") or kernel
    padding = asked.numbers("padding")
    apart = asked.arguments.get("dilation") or (1,)
    if not len(kernel) == len(stride) == len(padding) == len(sides) or set(apart) != {1}:  # type: ignore[arg-type]
        raise Unfit
    rows = zip(sides, kernel, stride, padding, strict=True)
    return [MapAxis(side, width, step, 1, edge) for side, width, step, edge in rows]


def _parts(sides: Shape, pooled: Shape) -> list[MapAxis]:
    """Returns the axes of a map in parts of about the same extents. Raises `Unfit`."""
    if len(sides) != len(pooled) or not all(pooled):
        raise Unfit
    return [
        MapAxis(side, max(1, side // count), side, count)
        for side, count in zip(sides, pooled, strict=True)
    ]


def cells(asked: Asked, pooled: Shape) -> list[MapAxis]:
    """Returns the axes of a map that is pooled to cells."""
    return _parts(_spatial(asked.tensor("self").shape, len(pooled)), pooled)


def unpooled(asked: Asked, pooled: Shape) -> list[MapAxis]:
    """Returns the axes of a map that is made from the pooled one."""
    return _parts(asked.numbers("output_size"), pooled)


def fractional(asked: Asked, pooled: Shape) -> list[MapAxis]:
    """Returns the axes of a map under a window that moves by a fraction, its first one at 0."""
    sides, kernel = _spatial(asked.tensor("self").shape, len(pooled)), asked.numbers("kernel_size")
    if len(kernel) != len(sides):
        raise Unfit
    rows = zip(sides, kernel, pooled, strict=True)
    return [MapAxis(side, width, side - width, max(1, count - 1)) for side, width, count in rows]


def inside(axes: int, of_call: Axes) -> Mapping[str, Rule]:
    """Returns the rule of indices inside their windows in maps of so many axes. A view's storage
    may have other elements in between, in no window."""

    def rule(asked: Asked) -> Fill:
        if asked.spec.is_view:
            raise Unfit
        return windows(of_call(asked, _spatial(asked.spec.shape, axes)))

    return {"indices": rule}


MAXIMA: Rules = {
    name.format(axes): inside(axes, of_call)
    for name, of_call in (
        ("max_pool{}d_with_indices_backward", sliding),
        ("adaptive_max_pool{}d_backward", cells),
        ("fractional_max_pool{}d_backward", fractional),
        ("max_unpool{}d", unpooled),
    )
    for axes in (2, 3)
}
"""By operator without overload and argument."""


def with_indices(operator: Operator, arguments: Arguments, pooled: Shape) -> Arguments:
    """Returns an operator's arguments with indices of the maxima of a pooled map: indices drawn
    from whole maps would take twice the time."""
    spec: TensorSpec = fixed(*pooled, dtype=INDEX)
    fill = rules_of(operator, MAXIMA)["indices"](Asked(arguments, spec))
    return {**arguments, "indices": msgspec.structs.replace(spec, fill=fill)}
