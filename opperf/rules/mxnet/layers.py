"""Layers with options that only MXNet has."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import Families, arguments_by_role
from opperf.rules.families.layers import HIDDEN, dense
from opperf.rules.mxnet.operations.layers import LAYERS
from opperf.rules.pictures import feature_maps, images
from opperf.rules.shapes import shapes, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, Arguments, tensor

FAMILIES = Families()


@FAMILIES.add("FullyConnected")
def fully_connected(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images as one vector each, as MXNet's users know them, which it lays out itself, and then
    what every framework's dense layer is measured with."""
    shape = images(size)
    yield {
        "data": tensor(*shape),
        "weight": tensor(HIDDEN, math.prod(shape[1:])),
        "bias": tensor(HIDDEN),
        "num_hidden": HIDDEN,
        "flatten": True,
    }
    yield from arguments_by_role(operator, LAYERS, dense, size)


def kinds(operator: Operator) -> tuple[str, ...]:
    """Every activation the operator of this build knows."""
    choice = operator.parameter("act_type")
    return choice.choices if choice is not None else ()


@FAMILIES.add("LeakyReLU")
def leaky_relu(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Every activation; the one that learns has a slope for each column.

    The one with random slopes is run without a gradient, which takes the slopes drawn while
    training: predicting writes none, and training ends the process in MXNet 1.9.1 and 2.0.
    """
    for kind in kinds(operator):
        for shape in shapes(size):
            slopes: Arguments = (
                {"gamma": tensor(shape[-1], fill=PROBABILITY)} if kind == "prelu" else {}
            )
            yield {"data": tensor(*shape, gradient=kind != "rrelu"), **slopes, "act_type": kind}


@FAMILIES.add("SoftmaxActivation")
def softmax_activation(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Classes of whole samples, and of each pixel."""
    for shape in wide(size):
        yield {"data": tensor(*shape), "mode": "instance"}
    yield {"data": tensor(*feature_maps(size)), "mode": "channel"}
