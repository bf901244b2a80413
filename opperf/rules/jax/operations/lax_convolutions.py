"""The convolutions of `jax.lax`, and its windows as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Values, use
from opperf.rules.shapes import Shape

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""Letters of the spatial axes by their number."""

Orders = tuple[str, str, str]
"""Orders of the axes of the maps, of the kernel and of the results, as words of letters."""


def channels_first(axes: int) -> Orders:
    """The orders that a convolution has without others: those of the canonical operations."""
    sides = SPATIAL[axes]
    return f"NC{sides}", f"OI{sides}", f"NC{sides}"


def channels_last(axes: int) -> Orders:
    """The orders of Flax and Keras, whose channels are last."""
    sides = SPATIAL[axes]
    return f"N{sides}C", f"{sides}IO", f"N{sides}C"


def _reordered(array: Array, own: str, wanted: str) -> Array:
    return array.transpose([own.index(letter) for letter in wanted])


def _pairs(
    padding: Any, extents: Sequence[int], kernel: Shape, stride: Shape, dilation: Shape
) -> list[tuple[int, int]]:
    """The elements of the border before and behind each axis, which may be a word."""
    if not isinstance(padding, str):
        return [(before, behind) for before, behind in padding]
    if padding == "VALID":
        return [(0, 0)] * len(kernel)
    assert padding == "SAME"
    made = []
    for extent, k, s, d in zip(extents, kernel, stride, dilation, strict=True):
        whole = max(0, (-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent)
        made.append((whole // 2, whole - whole // 2))
    return made


def _with_border(data: Array, pairs: Sequence[tuple[int, int]]) -> Array:
    """The maps with zeros around them. Only tests call it, which have NumPy."""
    import numpy as np

    return np.pad(data, [(0, 0), (0, 0), *pairs])


def convolution_roles(
    lhs: Array,
    rhs: Array,
    window_strides: Shape,
    padding: Any,
    lhs_dilation: None = None,
    rhs_dilation: Shape | None = None,
    dimension_numbers: Orders | None = None,
    feature_group_count: int = 1,
) -> dict[str, Any]:
    """A convolution's inputs, with the border as a part of the maps: it may differ at the two ends
    of an axis."""
    axes = len(window_strides)
    maps, filters, _ = dimension_numbers or channels_first(axes)
    usual = channels_first(axes)
    data, weight = _reordered(lhs, maps, usual[0]), _reordered(rhs, filters, usual[1])
    dilation = rhs_dilation or (1,) * axes
    pairs = _pairs(padding, data.shape[2:], weight.shape[2:], window_strides, dilation)
    return {
        "data": _with_border(data, pairs),
        "weight": weight,
        "stride": window_strides,
        "padding": (0,) * axes,
        "dilation": dilation,
        "groups": feature_group_count,
    }


def as_called(made: Array, arguments: Values) -> Array:
    """The results of a convolution in the order of the call's axes."""
    axes = made.ndim - 2
    orders = arguments.get("dimension_numbers")
    return _reordered(made, channels_first(axes)[2], orders[2]) if orders else made


def word_of(roles: Roles) -> str | None:
    """The word for a border: none, or one that keeps the extents; None if it is another."""
    weight, padding, dilation = roles["weight"], roles["padding"], roles["dilation"]
    assert isinstance(weight, TensorSpec)
    assert isinstance(padding, tuple)
    assert isinstance(dilation, tuple)
    if not any(padding):
        return "VALID"
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]  # type: ignore[operator]
    keeps = all(2 * p == r for p, r in zip(padding, reach, strict=True))  # type: ignore[operator]
    return "SAME" if keeps and set(roles["stride"]) == {1} else None  # type: ignore[arg-type]


def convolution_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of a convolution without a bias, which `jax.lax` has none of; None if the
    function has no such argument."""
    groups, dilation, padding = roles.get("groups", 1), roles["dilation"], roles["padding"]
    assert isinstance(dilation, tuple)
    assert isinstance(padding, tuple)
    takes_pairs = operator.parameter("rhs_dilation") is not None
    border = tuple((one, one) for one in padding) if takes_pairs else word_of(roles)
    if border is None or (groups != 1 and operator.parameter("feature_group_count") is None):
        return None
    made: dict[str, Argument] = {
        "lhs": roles["data"],
        "rhs": roles["weight"],
        "window_strides": roles["stride"],
        "padding": border,  # type: ignore[dict-item]
    }
    if operator.parameter("feature_group_count") is None and takes_pairs:
        # It requires both.
        return {**made, "lhs_dilation": (1,) * len(dilation), "rhs_dilation": dilation}
    if set(dilation) != {1}:
        if not takes_pairs:
            return None
        made["rhs_dilation"] = dilation
    return {**made, "feature_group_count": groups} if groups != 1 else made


def transposed_roles(
    lhs: Array,
    rhs: Array,
    strides: Shape,
    padding: Any,
    dimension_numbers: Orders,
    transpose_kernel: bool = False,
) -> dict[str, Any]:
    """A transposed convolution's inputs. Without `transpose_kernel` the kernel is one that is not
    flipped, and its input channels are the maps'."""
    axes = len(strides)
    usual = channels_first(axes)
    maps, filters, _ = dimension_numbers
    data, weight = _reordered(lhs, maps, usual[0]), _reordered(rhs, filters, usual[1])
    if not transpose_kernel:
        flipped = (slice(None), slice(None), *(slice(None, None, -1),) * axes)
        weight = weight.swapaxes(0, 1)[flipped]
    kernel = weight.shape[2:]
    if padding == "SAME":
        # The border of the forward convolution that these words stand for.
        cut = [k - s for k, s in zip(kernel, strides, strict=True)]
        assert all(one >= 0 and one % 2 == 0 for one in cut)
        border = tuple(one // 2 for one in cut)
    else:
        assert all(before == behind for before, behind in padding)
        border = tuple(k - 1 - pair[0] for k, pair in zip(kernel, padding, strict=True))
    return {
        "data": data,
        "weight": weight,
        "stride": strides,
        "padding": border,
        "dilation": (1,) * axes,
        "groups": 1,
    }


def transposed_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of a transposed convolution of one group."""
    weight, padding = roles["weight"], roles["padding"]
    assert isinstance(weight, TensorSpec)
    assert isinstance(padding, tuple)
    if roles.get("groups", 1) != 1:
        return None
    kernel = weight.shape[2:]
    border = [k - 1 - p for k, p in zip(kernel, padding, strict=True)]  # type: ignore[operator]
    return {
        "lhs": roles["data"],
        "rhs": weight,
        "strides": roles["stride"],
        "padding": tuple((one, one) for one in border),
        "dimension_numbers": channels_first(len(kernel)),
        "transpose_kernel": True,
    }


def columns_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The arguments of a window's elements as channels."""
    padding = roles["padding"]
    assert isinstance(padding, tuple)
    return {
        "lhs": roles["data"],
        "filter_shape": roles["kernel"],
        "window_strides": roles["stride"],
        "padding": tuple((one, one) for one in padding),  # type: ignore[misc]
    }


def columns_roles(
    lhs: Array, filter_shape: Shape, window_strides: Shape, padding: Any
) -> dict[str, Any]:
    """A window's inputs, with the border as a part of the maps."""
    once = (1,) * len(filter_shape)
    pairs = _pairs(padding, lhs.shape[2:], filter_shape, window_strides, once)
    return {
        "data": _with_border(lhs, pairs),
        "kernel": filter_shape,
        "stride": window_strides,
        "dilation": once,
        "padding": (0,) * len(filter_shape),
    }


def as_maps(made: Array, arguments: Values) -> Array:
    """Columns as maps: of the extents that windows of stride one and a border have, the input's."""
    return made.reshape(*made.shape[:2], *arguments["lhs"].shape[2:])


CONVOLUTION = use("convolution", convolution_roles, as_called, convolution_arguments)

TABLE: Table = {
    "lax.conv": CONVOLUTION,
    "lax.conv_general_dilated": CONVOLUTION,
    "lax.conv_general_dilated_patches": use("im2col", columns_roles, as_maps, columns_arguments),
    "lax.conv_transpose": use("deconvolution", transposed_roles, as_called, transposed_arguments),
    "lax.conv_with_general_padding": CONVOLUTION,
}
