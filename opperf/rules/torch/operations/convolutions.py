"""PyTorch's convolutions and pooling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Choice, Roles, Table, ToArguments, ToRoles, Use, use
from opperf.rules.shapes import Shape

IGNORED = frozenset({"kernel_size", "transposed", "benchmark", "deterministic", "allow_tf32"})
"""Arguments of a convolution that follow from the others, or do not affect its values."""

CHANNELS_LAST = {4: "channels_last", 5: "channels_last_3d"}
"""Orders of axes in memory with the channels last, by the number of axes."""


def along(value: Shape, axes: int) -> Shape:
    """The values of each spatial axis; one stands for all."""
    return tuple(value) * axes if len(value) == 1 else tuple(value)


def padding_of(padding: Any, kernel: Shape, dilation: Shape) -> Shape:
    """The elements of the border before each axis, which may be a word."""
    if isinstance(padding, str):
        reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        assert padding == "valid" or not any(extent % 2 for extent in reach)
        return tuple(extent // 2 if padding == "same" else 0 for extent in reach)
    return along(padding, len(kernel))


def _convolution_roles(
    weight: Array,
    input: Any = None,
    self: Any = None,
    bias: Any = None,
    stride: Shape = (1,),
    padding: Any = (0,),
    dilation: Shape = (1,),
    groups: int = 1,
    output_padding: Shape = (0,),
    **others: Any,
) -> dict[str, Any]:
    assert others.keys() <= IGNORED
    kernel = weight.shape[2:]
    steps = along(dilation, len(kernel))
    further = along(output_padding, len(kernel))
    return {
        "data": self if input is None else input,
        "weight": weight,
        "bias": bias,
        "stride": along(stride, len(kernel)),
        "padding": padding_of(padding, kernel, steps),
        "dilation": steps,
        "groups": groups,
        **({"output_padding": further} if any(further) else {}),
    }


def convolution_arguments(
    operator: Operator, roles: Mapping[str, Any], axes: int = 0
) -> dict[str, Argument] | None:
    """The arguments of a convolution of either direction; None if the operator has no such
    argument, or is of another number of axes."""
    names = {parameter.name for parameter in operator.parameters}
    count = len(roles["stride"])
    once, none = (1,) * count, (0,) * count
    lacks = (
        ("groups" not in names and roles.get("groups", 1) > 1)
        or ("dilation" not in names and roles["dilation"] != once)
        or ("bias" not in names and "bias" in roles)
    )
    if lacks or axes not in (0, count):
        return None
    offered: dict[str, Argument] = {
        "input": roles["data"],
        "self": roles["data"],
        "weight": roles["weight"],
        "kernel_size": roles["weight"].shape[2:],
        **({"bias": roles["bias"]} if "bias" in roles else {}),
        "stride": roles["stride"],
        "padding": roles["padding"],
        "dilation": roles["dilation"],
        "output_padding": roles.get("output_padding", none),
        "groups": roles.get("groups", 1),
    }
    usual = {"dilation": once, "output_padding": none, "groups": 1}
    return {
        parameter.name: offered[parameter.name]
        for parameter in operator.parameters
        if parameter.name in offered
        and (parameter.required or usual.get(parameter.name) != offered[parameter.name])
    }


def convolving(axes: int, operation: str = "convolution") -> Use:
    """The use of a convolution, or of a transposed one, of a number of spatial axes."""
    return use(
        operation,
        _convolution_roles,
        to_arguments=lambda operator, roles: convolution_arguments(operator, roles, axes),
    )


def channels_last(spec: TensorSpec) -> TensorSpec:
    """The tensor with its channels last in memory, where it has as many axes as maps."""
    order = CHANNELS_LAST.get(len(spec.shape), "")
    return msgspec.structs.replace(spec, memory_format=order)


CONVOLUTIONS: Table = {
    **{f"conv{axes}d": convolving(axes) for axes in (1, 2, 3)},
    **{f"conv_transpose{axes}d": convolving(axes, "deconvolution") for axes in (1, 2, 3)},
    "convolution": Choice(
        "transposed", {False: convolving(0), True: convolving(0, "deconvolution")}
    ),
    "mkldnn_convolution": convolving(0),
    **dict.fromkeys(("thnn_conv2d", "slow_conv_dilated2d"), convolving(2)),
    **dict.fromkeys(("slow_conv_dilated3d", "slow_conv3d", "slow_conv3d_forward"), convolving(3)),
    **{f"slow_conv_transpose{axes}d": convolving(axes, "deconvolution") for axes in (2, 3)},
    "conv_tbc": use(
        "convolution",
        lambda self, weight, bias, pad: {
            "data": self.transpose(1, 2, 0),
            "weight": weight.transpose(2, 1, 0),
            "bias": bias,
            **{"stride": (1,), "padding": (pad,), "dilation": (1,)},
        },
        lambda made, arguments: made.transpose(2, 0, 1),
    ),
}
"""Convolutions. Those of cuDNN and MIOpen, which no CPU runs, are not compared."""


COLUMNS: Table = {
    name: use(name, f"data=self {sizes}kernel=kernel_size dilation padding stride")
    for name, sizes in (("im2col", ""), ("col2im", "output_size "))
}


def _pooling_roles(kind: str) -> ToRoles:
    def roles(
        self: Array,
        kernel_size: Shape,
        stride: Shape = (),
        padding: Shape = (0,),
        dilation: Shape = (1,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> dict[str, Any]:
        axes = self.ndim - 2
        kernel = along(kernel_size, axes)
        made = {
            "data": self,
            "kernel": kernel,
            "stride": along(stride, axes) or kernel,
            "padding": along(padding, axes),
            "dilation": along(dilation, axes),
            "ceil": ceil_mode,
        }
        if kind != "avg":
            return made
        counted = {"counts_border": count_include_pad, "divisor": divisor_override}
        return {**made, "kind": "avg", **counted}

    return roles


def _pooling_arguments(kind: str, axes: int) -> ToArguments:
    def arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        kernel, stride = roles["kernel"], roles["stride"]
        if roles.get("kind", kind) != kind or len(kernel) != axes:  # type: ignore[arg-type]
            return None
        once, none = (1,) * axes, (0,) * axes
        made: dict[str, Argument] = {"self": roles["data"], "kernel_size": kernel, "stride": stride}
        options = {
            "padding": (roles["padding"], none),
            "dilation": (roles.get("dilation", once), once),
            "ceil_mode": (roles.get("ceil", False), False),
            "count_include_pad": (roles.get("counts_border", True), True),
            "divisor_override": (roles.get("divisor"), None),
        }
        # What a call needs not say is omitted.
        return {
            **made,
            **{name: value for name, (value, usual) in options.items() if value != usual},
        }

    return arguments


def pooled(kind: str, axes: int, indices: bool = False) -> Use:
    """The use of a pooling, of which one of maxima may return their places too."""
    operation = "pooling" if kind == "avg" else "max_pooling"
    only_maxima = kind == "max" and not indices
    to_output = (lambda made, arguments: made[0]) if only_maxima else None
    return use(operation, _pooling_roles(kind), to_output, _pooling_arguments(kind, axes))


def _unpooling_roles(self: Array, indices: Array, output_size: Shape, **others: Any) -> Any:
    assert others.keys() <= {"stride", "padding"}
    return {"data": self, "indices": indices, "output_size": output_size}


def fractional_roles(turn: int) -> ToRoles:
    """The inputs of a fractional pooling. The kernel of two axes reads its random samples from the
    last axis to the first."""

    def roles(
        self: Array, kernel_size: Shape, output_size: Shape, random_samples: Array
    ) -> dict[str, Any]:
        return {
            "data": self,
            "kernel": kernel_size,
            "output_size": output_size,
            "samples": random_samples[..., ::turn],
        }

    return roles


def adaptive(operation: str, axes: int) -> Use:
    """The use of an adaptive pooling of a number of spatial axes."""

    def arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        if len(roles["output_size"]) != axes:  # type: ignore[arg-type]
            return None
        return {"self": roles["data"], "output_size": roles["output_size"]}

    return use(operation, "data=self output_size", to_arguments=arguments)


POOLINGS: Table = {
    **{
        name.format(axes): of_axes
        for axes in (1, 2, 3)
        for name, of_axes in {
            "avg_pool{}d": pooled("avg", axes),
            "max_pool{}d": pooled("max", axes),
            "max_pool{}d_with_indices": pooled("max", axes, True),
            "quantized_max_pool{}d": pooled("max", axes),
            "adaptive_avg_pool{}d": adaptive("adaptive_average_pooling", axes),
            "adaptive_max_pool{}d": adaptive("adaptive_max_pooling", axes),
        }.items()
    },
    **{f"mkldnn_max_pool{axes}d": pooled("max", axes) for axes in (2, 3)},
    "mkldnn_adaptive_avg_pool2d": adaptive("adaptive_average_pooling", 2),
    **{f"max_unpool{axes}d": use("max_unpooling", _unpooling_roles) for axes in (2, 3)},
    "fractional_max_pool2d": use("fractional_max_pooling", fractional_roles(-1)),
    "fractional_max_pool3d": use("fractional_max_pooling", fractional_roles(1)),
}

OPERATIONS: Table = {**CONVOLUTIONS, **COLUMNS, **POOLINGS}
