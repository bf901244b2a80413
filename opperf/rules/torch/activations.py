"""Families of PyTorch's activations with weights, and of their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.operations.uses import ANYTHING, Array, Choice, Roles, Table, Written, merge, use, uses
from opperf.rules.bert import few_sentences, scores
from opperf.rules.configurations import WHY
from opperf.rules.families.activations import ACTIVATIONS, Uses
from opperf.rules.families.elementwise import ACTIVATED, ROWS, of_one
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import FEW, Shape, in_cache, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, Arguments, between, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

X = "x=self"

RENAMED = {
    "hardsigmoid": "hard_sigmoid",
    "hardswish": "hard_swish",
    "hardtanh": "hard_tanh",
    **{name: name for name in ("log_sigmoid", "mish", "relu", "relu6", "selu", "silu")},
}
"""Operations of activations without parameters, or with their usual ones."""

SOFTMAX = "data=self axis=dim"


def _prelu_roles(self: Array, weight: Array) -> dict[str, Any]:
    extents = [1] * self.ndim
    if len(weight) > 1:
        extents[1] = -1
    return {"x": self, "slope": weight.reshape(extents)}


def softplus_roles(self: Array, beta: float = 1.0, threshold: float = 20.0) -> dict[str, Any]:
    """A tensor times the softplus's steepness, by which the result is divided. Above the threshold
    the two functions that PyTorch has differ by less than a billionth."""
    return {"x": beta * self}


OPERATIONS: Table = merge(
    uses(RENAMED, X, other=RENAMED),
    {
        "celu": use("celu", "x=self slope=alpha"),
        "elu": use(
            "elu",
            lambda self, alpha=1.0, scale=1.0, input_scale=1.0: {
                "x": self * (input_scale + (1 - input_scale) * (self > 0)),
                "slope": alpha,
            },
            lambda made, arguments: made * arguments.get("scale", 1.0),
            "x=self slope=alpha",
        ),
        "gelu": Choice(
            "approximate", {None: use("gelu", X), "tanh": use("gelu_tanh", f"{X} -approximate")}
        ),
        "glu": use("glu", "x=self axis=dim"),
        "hardshrink": use("hard_shrink", "x=self threshold=lambd"),
        "leaky_relu": use("leaky_relu", "x=self slope=negative_slope"),
        "log_sigmoid_forward": use(
            "log_sigmoid", X, lambda made, arguments: Written((made, ANYTHING)), X
        ),
        **{
            name: use(name.split(".")[0].removeprefix("special_"), SOFTMAX, temperature=1.0)
            for name in ("log_softmax.int", "softmax.int", "special_log_softmax", "special_softmax")
        },
        "prelu": use("leaky_relu", _prelu_roles),
        "softplus": use(
            "softplus", softplus_roles, lambda made, arguments: made / arguments.get("beta", 1.0), X
        ),
        "softshrink": use("soft_shrink", "x=self threshold=lambd"),
        "threshold": use(
            "where",
            lambda self, threshold, value: {"condition": self > threshold, "x": self, "y": value},
        ),
    },
)

FAMILIES = Families()

RANDOM_SLOPES = between(0.125, 1 / 3)
"""Slopes that a randomised ReLU draws by default."""


def _filled(spec: TensorSpec, fill: Fill, **others: bool) -> TensorSpec:
    return msgspec.structs.replace(spec, fill=fill, **others)


Derivative = Callable[[TensorSpec], Arguments]
"""Makes the arguments of a derivative beside the gradient, from a tensor of the data's shape."""


def _of_input(**numbers: float | bool | str) -> Derivative:
    """The derivative from the forward call's input, with these numbers."""
    return lambda one: {"self": one, **numbers}


def _of_output(low: float, high: float) -> Derivative:
    """The derivative from the forward call's output, which is in this range."""
    return lambda one: {"output": _filled(one, between(low, high))}


UNSCALED: Arguments = dict.fromkeys(("alpha", "scale", "input_scale"), 1.0)
"""The numbers of ELU as it was published."""

DERIVATIVES: dict[str, Derivative] = {
    "elu_backward": lambda one: {**UNSCALED, "is_result": False, "self_or_result": one},
    "gelu_backward": _of_input(),
    "hardshrink_backward": _of_input(lambd=0.5),
    "hardsigmoid_backward": _of_input(),
    "hardswish_backward": _of_input(),
    "hardtanh_backward": _of_input(min_val=-1.0, max_val=1.0),
    "leaky_relu_backward": _of_input(negative_slope=0.1, self_is_result=False),
    # The buffer holds exponentials of minus the input's magnitude.
    "log_sigmoid_backward": lambda one: {"self": one, "buffer": _filled(one, PROBABILITY)},
    "logit_backward": lambda one: {"self": _filled(one, PROBABILITY)},
    "mish_backward": _of_input(),
    "_prelu_kernel_backward": lambda one: {"self": one, "weight": _filled(one, RANDOM_SLOPES)},
    "rrelu_with_noise_backward": lambda one: {
        "self": one,
        "noise": _filled(one, RANDOM_SLOPES, gradient=False),
        **{"lower": 0.125, "upper": 1 / 3, "training": True, "self_is_result": False},
    },
    "sigmoid_backward": _of_output(0.05, 0.95),
    "silu_backward": _of_input(),
    "softplus_backward": _of_input(beta=1.0, threshold=20.0),
    "softshrink_backward": _of_input(lambd=0.5),
    "tanh_backward": _of_output(-0.95, 0.95),
    "threshold_backward": _of_input(threshold=0.0),
}
"""Arguments of derivatives beside the gradient of the result."""

FORWARD = {
    "hardshrink_backward": "hard_shrink",
    "softshrink_backward": "soft_shrink",
    "threshold_backward": "relu",
    **{f"{name}_backward": operation for name, operation in RENAMED.items()},
}
"""Operations whose derivatives they are, where the operator's name has another one."""

OF_NETWORKS: dict[str, Uses] = {
    **ACTIVATIONS,
    **dict.fromkeys(
        ("relu", "_prelu_kernel", "rrelu_with_noise"),
        (("feature maps of a ResNet's first stage", feature_maps), ("a wide dense layer", square)),
    ),
}
"""Networks whose activations have these derivatives."""


def derived(operator: Operator, size: Preset) -> Iterable[tuple[Shape, Roles]]:
    """Yields the shapes of an activation that an operator is the derivative of, each with why."""
    operation = FORWARD.get(operator.name, operator.name.removesuffix("_backward"))
    uses = OF_NETWORKS.get(operation) or zip(
        ACTIVATED.get(operation, ROWS), (square, in_cache), strict=True
    )
    for why, shape in uses:
        # What follows a colon is true of the forward call.
        yield shape(size), {WHY: f"{why.partition(':')[0]}: the gradient"}
    yield tiny(size), FEW


@FAMILIES.add(*DERIVATIVES)
def derivative(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The gradient of an activation's result, and what the forward call saved."""
    gradient = operator.parameters[0].name
    for shape, notes in derived(operator, size):
        one = tensor(*shape)
        yield {gradient: one, **entry_of(DERIVATIVES, operator)(one), **notes}


GATED: dict[str, dict[str, int]] = {
    "glu_backward": {"grad_output": 1, "self": 2},
    "glu_backward_jvp": {"grad_x": 2, "grad_glu": 1, "x": 2, "dgrad_glu": 1, "dx": 2},
    "glu_jvp": {"glu": 1, "x": 2, "dx": 2},
}
"""Tensors of derivatives of gated linear units, each as wide as the result or twice as wide."""


@FAMILIES.add(*GATED)
def gated(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Derivatives of gated linear units, along the last axis and along channels."""
    steps = few_sentences(size, 256)
    maps = network_maps(size, 32, 56, 56)
    for why, shape, axis in (
        ("Conformer, the gates of its convolution: halves of each step's vector", steps, -1),
        ("gated convolutions, halves of the channels: far apart in memory", maps, 1),
    ):
        whole = [*shape]
        whole[axis] *= 2
        made: Arguments = {
            name: tensor(*(whole if times == 2 else shape))
            for name, times in entry_of(GATED, operator).items()
        }
        yield {**made, "dim": axis, WHY: why}


ROWS_BY_NAME: dict[str, Variants] = {
    "threshold": lambda size: [
        {"self": tensor(*shape), "threshold": 0.1, "value": 20.0, **why}
        for shape, why in of_one(size)
    ],
    "prelu": lambda size: {
        why: call(self=tensor(*shape), weight=tensor(slopes, fill=between(0.0, 0.5)))
        for maps in [feature_maps(size)]
        for why, shape, slopes in (
            ("one learned slope for all feature maps, torch.nn.PReLU's default", maps, 1),
            ("a slope for each channel, as the paper's network on ImageNet", maps, maps[1]),
            ("a slope for each unit of a wide layer", square(size), square(size)[1]),
        )
    },
    "_prelu_kernel": lambda size: {
        "Feature maps, and a slope for each channel that is broadcast": call(
            self=tensor(*feature_maps(size)),
            weight=tensor(1, feature_maps(size)[1], 1, 1, fill=between(0.0, 0.5)),
        )
    },
    "rrelu": lambda size: {
        why: call(self=tensor(*feature_maps(size)), training=trains)
        for why, trains in (
            ("predicting, with the mean slope for all", False),
            ("training, with a drawn slope for each element below zero", True),
        )
    },
    "rrelu_with_noise_functional rrelu_with_noise": lambda size: {
        "A randomised ReLU that trains, and keeps the slopes that it draws": call(
            self=tensor(*feature_maps(size)), noise=fixed(*feature_maps(size)), training=True
        )
    },
    "infinitely_differentiable_gelu_backward": lambda size: {
        "a wide layer, step by step": call(grad=tensor(*square(size)), self=tensor(*square(size)))
    },
    "_safe_softmax": lambda size: {"BERT-base, scores": call(self=tensor(*scores(size)), dim=-1)},
}
add_rows(FAMILIES.add, ROWS_BY_NAME)

FURTHER: dict[str, Variants] = {
    "softplus": lambda size: {
        "A steep softplus: a third above the threshold": call(self=tensor(*square(size)), beta=50.0)
    },
    "elu_backward": lambda size: {
        "ELU in place, which keeps its result alone: the gradient, without an exponential": call(
            grad_output=tensor(*square(size)),
            self_or_result=tensor(*square(size), fill=between(-0.95, 3.0)),
            **UNSCALED,
            is_result=True,
        )
    },
    "gelu_backward": lambda size: {
        f"{why}: the gradient": call(
            grad_output=tensor(*shape(size)), self=tensor(*shape(size)), approximate="tanh"
        )
        for why, shape in ACTIVATIONS["gelu_tanh"]
    },
}
add_rows(FAMILIES.also, FURTHER)
