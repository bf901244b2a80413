"""Layers with options that only MXNet has."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import arguments_by_role
from opperf.rules.families.layers import HIDDEN, classifiers, dense, outputs
from opperf.rules.mxnet.operations.layers import LAYERS
from opperf.rules.pictures import feature_maps, images
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, Arguments, tensor

FAMILIES = Families()


@FAMILIES.add("FullyConnected")
def fully_connected(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images, which the operator flattens itself, and then the inputs of every framework's dense
    layer."""
    shape = images(size)
    yield {
        WHY: "whole pictures, which it flattens, to a few units: a linear classifier of pixels",
        "data": tensor(*shape),
        "weight": tensor(HIDDEN, math.prod(shape[1:])),
        "bias": tensor(HIDDEN),
        "num_hidden": HIDDEN,
        "flatten": True,
    }
    yield from arguments_by_role(operator, LAYERS, dense, size)


KINDS = {
    "elu": "ELU",
    "gelu": "GELU, as in BERT",
    "gelu_erf": "GELU by the error function, as in BERT",
    "gelu_tanh": "GELU by tanh, as in GPT-2",
    "leaky": "leaky ReLU, as in DCGAN's discriminator",
    "prelu": "PReLU with a learned slope for each column",
    "rrelu": "randomised leaky ReLU",
    "selu": "SELU, as in self-normalising networks",
}
"""Activations by MXNet's names for them, and where they are usual."""


def kinds(operator: Operator) -> tuple[str, ...]:
    """Every activation that this build's operator has."""
    choice = operator.parameter("act_type")
    return choice.choices if choice is not None else ()


@FAMILIES.add("LeakyReLU")
def leaky_relu(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor for each activation; PReLU has a slope for each column.

    RReLU takes no gradient. The gradient needs the random slopes, which the predict phase does not
    write, and the train phase crashes in MXNet 1.9.1 and 2.0.
    """
    for kind in kinds(operator):
        for what, shape in outputs(size):
            slopes: Arguments = (
                {"gamma": tensor(shape[-1], fill=PROBABILITY)} if kind == "prelu" else {}
            )
            yield {
                WHY: f"{KINDS.get(kind, kind)}: {what}",
                "data": tensor(*shape, gradient=kind != "rrelu"),
                **slopes,
                "act_type": kind,
            }


@FAMILIES.add("SoftmaxActivation")
def softmax_activation(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores of classes, of whole samples and of each pixel."""
    for why, shape in classifiers(size):
        yield {WHY: why, "data": tensor(*shape), "mode": "instance"}
    yield {
        WHY: "the classes of each pixel, as FCN segments pictures: channels are far apart",
        "data": tensor(*feature_maps(size)),
        "mode": "channel",
    }
