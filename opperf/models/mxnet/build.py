"""Models of MXNet: a network's block, its weights, and what its training needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import mxnet as mx
from mxnet.gluon import loss, nn, rnn

from opperf.frameworks.models import Model
from opperf.models.mxnet.networks import DLRM, GPT, Encoder, LSTMLanguageModel, ResNet18, UNet, mlp
from opperf.models.networks import CLASSES, CLICKS, PIXELS, Instance, Optimizer
from opperf.models.weights import Extents

BLOCKS: Mapping[str, Callable[[Extents], mx.gluon.HybridBlock]] = {
    "dlrm": DLRM,
    "gpt": GPT,
    "lstm": LSTMLanguageModel,
    "mlp": mlp,
    "resnet18": ResNet18,
    "transformer": Encoder,
    "unet": UNet,
}

LOSSES: Mapping[str, Callable[[], loss.Loss]] = {
    CLASSES: loss.SoftmaxCrossEntropyLoss,
    PIXELS: lambda: loss.SoftmaxCrossEntropyLoss(axis=1),
    CLICKS: loss.SigmoidBinaryCrossEntropyLoss,
}

OPTIMIZERS: Mapping[str, Callable[[Optimizer], tuple[str, dict[str, float]]]] = {
    "sgd": lambda made: ("sgd", {"learning_rate": made.rate, "momentum": made.momentum}),
    "adam": lambda made: ("adam", {"learning_rate": made.rate}),
}

NORMS = {"weight": "gamma", "bias": "beta"}
"""Gluon's names of what normalisation learns."""

OF_AN_LSTM = re.compile(r"(?P<role>weight|bias)_(?P<side>ih|hh)_l(?P<layer>\d+)")
"""A parameter of LSTM layers; Gluon's names begin with the layer."""

SIDES = {"ih": "i2h", "hh": "h2h"}


def parameter(block: Any, name: str) -> mx.gluon.Parameter:
    """Returns a parameter by its path in the block, with PyTorch's names."""
    *path, last = name.split(".")
    for part in path:
        block = block[int(part)] if part.isdecimal() else getattr(block, part)
    if isinstance(block, (nn.BatchNorm, nn.LayerNorm)):
        last = NORMS.get(last, last)
    if isinstance(block, rnn.LSTM):
        found = OF_AN_LSTM.fullmatch(last)
        assert found, name
        last = f"l{found['layer']}_{SIDES[found['side']]}_{found['role']}"
    return getattr(block, last)


def build(instance: Instance) -> Model:
    """Returns a network with its inputs, on the CPU and in float32."""
    network = instance.network
    block = BLOCKS[instance.name](instance.extents)
    block.initialize(mx.init.Zero(), ctx=mx.cpu())
    for name, _, array in instance.weights():
        parameter(block, name).set_data(_ndarray(array))
    return Model(
        call=block,
        inputs=[_ndarray(array) for _, array in instance.inputs()],
        loss=LOSSES[network.loss](),
        optimizer=OPTIMIZERS[network.optimizer.name](network.optimizer),
        targets=[_ndarray(instance.target())],
    )


def _ndarray(array: Any) -> mx.nd.NDArray:
    return mx.nd.array(array, ctx=mx.cpu(), dtype=array.dtype)
