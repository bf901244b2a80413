"""Families of PyTorch's activations with weights, and of their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, few_sentences, scores
from opperf.rules.configurations import WHY
from opperf.rules.families.elementwise import of_one
from opperf.rules.pictures import feature_maps, network_maps
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import DISPATCH, Shape, column, square
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, Arguments, between, fixed, tensor

FAMILIES = Families()


@FAMILIES.add("prelu")
def prelu(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Learned slopes: one for all channels, and one for each."""
    maps = feature_maps(size)
    for why, shape, slopes in (
        ("one learned slope for all feature maps, torch.nn.PReLU's default", maps, 1),
        ("a slope for each channel, as the paper's network on ImageNet", maps, maps[1]),
        ("a slope for each unit of a wide layer", square(size), square(size)[1]),
    ):
        yield {"self": tensor(*shape), "weight": tensor(slopes, fill=between(0.0, 0.5)), WHY: why}


@FAMILIES.add("_prelu_kernel")
def prelu_kernel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps, and a slope for each channel that is broadcast."""
    maps = feature_maps(size)
    slopes = tensor(1, maps[1], 1, 1, fill=between(0.0, 0.5))
    yield {"self": tensor(*maps), "weight": slopes}


RANDOM_SLOPES = between(0.125, 1 / 3)
"""Slopes that a randomised ReLU draws by default."""


@FAMILIES.add("rrelu")
def rrelu(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A randomised ReLU that predicts, with one slope, and one that trains, with drawn ones."""
    shape = feature_maps(size)
    for why, trains in (
        ("predicting, with the mean slope for all", False),
        ("training, with a drawn slope for each element below zero", True),
    ):
        yield {"self": tensor(*shape), "training": trains, WHY: why}


@FAMILIES.add("rrelu_with_noise_functional", "rrelu_with_noise")
def rrelu_with_noise(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A randomised ReLU that trains, and keeps the slopes that it draws."""
    shape = feature_maps(size)
    yield {"self": tensor(*shape), "noise": fixed(*shape), "training": True}


@FAMILIES.add("threshold")
def threshold(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A threshold that about half of the elements exceed, and a value for the others."""
    for shape, why in of_one(size):
        yield {"self": tensor(*shape), "threshold": 0.1, "value": 20.0, **why}


@FAMILIES.also("softplus")
def steep_softplus(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A steep softplus, most of whose elements are above the threshold and stay as they are."""
    yield {"self": tensor(*square(size)), "beta": 50.0}


Derivative = Callable[[TensorSpec], Arguments]
"""Makes the arguments of a derivative beside the gradient, from a tensor of the data's shape."""


def _of_input(**numbers: float | bool | str) -> Derivative:
    """The derivative from the forward call's input, with these numbers."""
    return lambda one: {"self": one, **numbers}


def _of_output(low: float, high: float) -> Derivative:
    """The derivative from the forward call's output, which is in this range."""
    return lambda one: {"output": msgspec.structs.replace(one, fill=between(low, high))}


DERIVATIVES: dict[str, Derivative] = {
    "elu_backward": lambda one: {
        "alpha": 1.0,
        "scale": 1.0,
        "input_scale": 1.0,
        "is_result": False,
        "self_or_result": one,
    },
    "gelu_backward": _of_input(),
    "hardshrink_backward": _of_input(lambd=0.5),
    "hardsigmoid_backward": _of_input(),
    "hardswish_backward": _of_input(),
    "hardtanh_backward": _of_input(min_val=-1.0, max_val=1.0),
    "leaky_relu_backward": _of_input(negative_slope=0.1, self_is_result=False),
    # The buffer holds exponentials of minus the input's magnitude.
    "log_sigmoid_backward": lambda one: {
        "self": one,
        "buffer": msgspec.structs.replace(one, fill=PROBABILITY),
    },
    "logit_backward": lambda one: {"self": msgspec.structs.replace(one, fill=PROBABILITY)},
    "mish_backward": _of_input(),
    "_prelu_kernel_backward": lambda one: {
        "self": one,
        "weight": msgspec.structs.replace(one, fill=RANDOM_SLOPES),
    },
    "rrelu_with_noise_backward": lambda one: {
        "self": one,
        "noise": msgspec.structs.replace(one, fill=RANDOM_SLOPES, gradient=False),
        "lower": 0.125,
        "upper": 1 / 3,
        "training": True,
        "self_is_result": False,
    },
    "sigmoid_backward": _of_output(0.05, 0.95),
    "silu_backward": _of_input(),
    "softplus_backward": _of_input(beta=1.0, threshold=20.0),
    "softshrink_backward": _of_input(lambd=0.5),
    "tanh_backward": _of_output(-0.95, 0.95),
    "threshold_backward": _of_input(threshold=0.0),
}
"""Arguments of derivatives beside the gradient of the result."""


def derived(size: Preset) -> tuple[tuple[str, Shape], ...]:
    """Shapes of the results of activations in training, each with what it is."""
    return (
        (
            "inside the feed-forward blocks of BERT-base: as many gradients as activations",
            few_sentences(size, FEED_FORWARD),
        ),
        ("feature maps of a ResNet's first stage, their gradients beside them", feature_maps(size)),
        (DISPATCH, column(size)),
    )


@FAMILIES.add(*DERIVATIVES)
def derivative(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The gradient of an activation's result, and what the forward call saved."""
    arguments = entry_of(DERIVATIVES, operator)
    gradient = operator.parameters[0].name
    for why, shape in derived(size):
        one = tensor(*shape)
        yield {gradient: one, **arguments(one), WHY: why}


@FAMILIES.add("infinitely_differentiable_gelu_backward")
def gelu_backward_in_steps(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A wide layer: GELU's derivative from elementary operators, each with a derivative, in place
    of one kernel."""
    one = tensor(*square(size))
    yield {"grad": one, "self": one}


@FAMILIES.also("gelu_backward")
def gelu_backward(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """GPT-2, a short text inside its feed-forward blocks: the derivative of GELU by a tangent."""
    one = tensor(1, size.extent(128), FEED_FORWARD)
    yield {"grad_output": one, "self": one, "approximate": "tanh"}


@FAMILIES.also("gelu.default")
def gelu_by_tanh(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """GPT-2 medium, inside its feed-forward blocks: GELU by a hyperbolic tangent."""
    yield {"self": tensor(1, size.extent(1024), 4096), "approximate": "tanh"}


WHOLE, HALF = "whole", "half"
"""Extents of a tensor of a gated linear unit: as wide as its input, or as its result."""

GATED: dict[str, dict[str, str]] = {
    "glu_backward": {"grad_output": HALF, "self": WHOLE},
    "glu_backward_jvp": {
        "grad_x": WHOLE,
        "grad_glu": HALF,
        "x": WHOLE,
        "dgrad_glu": HALF,
        "dx": WHOLE,
    },
    "glu_jvp": {"glu": HALF, "x": WHOLE, "dx": WHOLE},
}
"""Tensors of derivatives of gated linear units."""


@FAMILIES.add(*GATED)
def gated(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Derivatives of gated linear units, along the last axis and along channels."""
    steps = few_sentences(size, 256)
    maps = network_maps(size, 32, 56, 56)
    for why, shape, axis in (
        ("Conformer, the gates of its convolution: halves of each step's vector", steps, -1),
        (
            "gated convolutions, halves of the channels: far apart in memory",
            maps,
            1,
        ),
    ):
        whole = list(shape)
        whole[axis] *= 2
        extents = {WHOLE: tuple(whole), HALF: shape}
        made = {name: tensor(*extents[kind]) for name, kind in entry_of(GATED, operator).items()}
        yield {**made, "dim": axis, WHY: why}


@FAMILIES.add("_safe_softmax")
def safe_softmax(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores of attention, of which a row may be masked whole."""
    yield {"self": tensor(*scores(size)), "dim": -1, WHY: "BERT-base, scores of every head"}
