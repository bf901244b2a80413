"""MXNet's convolutions and poolings."""

from __future__ import annotations

from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Choice, Table, Values, use
from opperf.rules.shapes import Shape

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
"""Layout by the number of spatial axes."""


def window_arguments(roles: dict[str, Any], filters: int) -> dict[str, Any]:
    """Arguments of a convolution of either direction, without its layout. MXNet takes the kernel's
    extents beside the weights."""
    grouped = {"num_group": roles["groups"]} if "groups" in roles else {}
    bias = {"bias": roles["bias"]} if "bias" in roles else {}
    return {
        "data": roles["data"],
        "weight": roles["weight"],
        **bias,
        "no_bias": not bias,
        "kernel": roles["weight"].shape[2:],
        "stride": roles["stride"],
        "dilate": roles["dilation"],
        "pad": roles["padding"],
        "num_filter": filters,
        **grouped,
    }


def layout_argument(roles: dict[str, Any]) -> dict[str, Any]:
    """The layout argument of tensors with channels before the spatial axes."""
    return {"layout": LAYOUTS[len(roles["stride"])]}


def convolution_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a convolution: the weights' first axis is that of the filters."""
    return {**window_arguments(roles, roles["weight"].shape[0]), **layout_argument(roles)}


def deconvolution_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a transposed convolution: the weights' second axis is that of a group's
    filters."""
    filters = roles["weight"].shape[1] * roles.get("groups", 1)
    return {**window_arguments(roles, filters), **layout_argument(roles)}


CHANNELS_LAST = frozenset({"NWC", "NHWC", "NDHWC"})
"""Layouts of a pooling's data with channels behind the spatial axes; by default they are before."""


def pooling_roles(
    data: Array,
    kernel: Shape,
    stride: Shape,
    pad: Shape,
    pool_type: str,
    global_pool: bool,
    layout: str | None = None,
) -> dict[str, Any]:
    """A pooling's inputs, channels before the spatial axes."""
    import numpy as np

    assert not global_pool
    moved = np.moveaxis(data, -1, 1) if layout in CHANNELS_LAST else data
    return {"data": moved, "kernel": kernel, "stride": stride, "padding": pad, "kind": pool_type}


def pooling_output(made: Array, arguments: Values) -> Array:
    """Pooled maps in the layout of the data."""
    import numpy as np

    return np.moveaxis(made, 1, -1) if arguments.get("layout") in CHANNELS_LAST else made


def pooling_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a pooling of tensors with channels before the spatial axes."""
    names = {"padding": "pad", "kind": "pool_type"}
    return {names.get(role, role): value for role, value in roles.items()}


SPATIAL = "stride dilation=dilate padding=pad"
CONVOLVED = f"data weight bias {SPATIAL} groups=num_group"

# MXNet takes the extents of the weights as plain arguments too.
CONVOLUTION = use(
    "convolution",
    f"{CONVOLVED} -kernel -num_filter -layout -no_bias",
    to_arguments=convolution_arguments,
)
DECONVOLUTION = use(
    "deconvolution",
    f"{CONVOLVED} -kernel -num_filter -layout -no_bias",
    to_arguments=deconvolution_arguments,
)
POOLING = Choice(
    "global_pool",
    {
        False: use("pooling", pooling_roles, pooling_output, to_arguments=pooling_arguments),
        # The window is the whole image, so that stride and padding have no effect.
        True: use("global_pooling", "data kind=pool_type -kernel -stride -pad -global_pool"),
    },
)

OPERATIONS: Table = {
    "Convolution": CONVOLUTION,
    "Convolution_v1": CONVOLUTION,
    "Deconvolution": DECONVOLUTION,
    "Pooling": POOLING,
    "Pooling_v1": POOLING,
    "_contrib_AdaptiveAvgPooling2D": use("adaptive_average_pooling", "data output_size"),
    "col2im": use("col2im", f"data output_size kernel {SPATIAL}"),
    "im2col": use("im2col", f"data kernel {SPATIAL}"),
}
