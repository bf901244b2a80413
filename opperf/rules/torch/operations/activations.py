"""PyTorch's activations."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import (
    ANYTHING,
    Array,
    Choice,
    Table,
    Values,
    Words,
    Written,
    merge,
    use,
    uses,
)

X = "x=self"

RENAMED = {
    "hardsigmoid": "hard_sigmoid",
    "hardswish": "hard_swish",
    "hardtanh": "hard_tanh",
    **{name: name for name in ("log_sigmoid", "mish", "relu", "relu6", "selu", "silu")},
}
"""Operations of activations without parameters, or with their usual ones."""

SOFTMAX = "data=self axis=dim"


def prelu_roles(self: Array, weight: Array) -> dict[str, Any]:
    """A tensor, and the slope of all elements or of each channel, the second axis."""
    extents = [1] * self.ndim
    if len(weight) > 1:
        extents[1] = -1
    return {"x": self, "slope": weight.reshape(extents)}


def elu_roles(
    self: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> dict[str, Any]:
    """A tensor, its negative elements times their own scale, and the slope; the result has a scale
    too, as SELU's."""
    return {"x": self * (input_scale + (1 - input_scale) * (self > 0)), "slope": alpha}


def times_scale(made: Array, arguments: Values) -> Any:
    """The result of `elu_roles`, times the scale."""
    return made * arguments.get("scale", 1.0)


def softplus_roles(self: Array, beta: float = 1.0, threshold: float = 20.0) -> dict[str, Any]:
    """A tensor times the softplus's steepness, by which the result is divided. Above the threshold
    the two functions that PyTorch has differ by less than a billionth."""
    return {"x": beta * self}


def over_steepness(made: Array, arguments: Values) -> Any:
    """The result of `softplus_roles`, divided by the steepness."""
    return made / arguments.get("beta", 1.0)


def threshold_roles(self: Array, threshold: float, value: float) -> dict[str, Any]:
    """The elements above a threshold, and a value for the others."""
    return {"condition": self > threshold, "x": self, "y": value}


def first_output(made: Any, arguments: Values) -> Written:
    """The result with a second output, which keeps what the derivative needs."""
    return Written((made, ANYTHING))


TABLE: Table = merge(
    uses(RENAMED, X, other=RENAMED),
    {
        "celu": use("celu", "x=self slope=alpha"),
        "elu": use("elu", elu_roles, times_scale, Words("x=self slope=alpha", {}).to_arguments),
        "gelu": Choice(
            "approximate",
            {None: use("gelu", X), "tanh": use("gelu_tanh", f"{X} -approximate")},
        ),
        "glu": use("glu", "x=self axis=dim"),
        "hardshrink": use("hard_shrink", "x=self threshold=lambd"),
        "leaky_relu": use("leaky_relu", "x=self slope=negative_slope"),
        "log_sigmoid_forward": use("log_sigmoid", X, first_output, Words(X, {}).to_arguments),
        "log_softmax.int": use("log_softmax", SOFTMAX, temperature=1.0),
        "prelu": use("leaky_relu", prelu_roles),
        "softmax.int": use("softmax", SOFTMAX, temperature=1.0),
        "softplus": use("softplus", softplus_roles, over_steepness, Words(X, {}).to_arguments),
        "softshrink": use("soft_shrink", "x=self threshold=lambd"),
        "special_log_softmax": use("log_softmax", SOFTMAX, temperature=1.0),
        "special_softmax": use("softmax", SOFTMAX, temperature=1.0),
        "threshold": use("where", threshold_roles),
    },
)
