"""Layers fused with their activation, which oneDNN computes together where a graph has both."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, UNITS, sentences
from opperf.rules.configurations import WHY
from opperf.rules.families import convolution as convolutions
from opperf.rules.families import layers
from opperf.rules.image_shapes import FILTERS, Window, feature_maps, photographs
from opperf.rules.mxnet.attention import in_single
from opperf.rules.mxnet.layers import dense_arguments
from opperf.rules.mxnet.operations.convolutions import convolution_arguments
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

FAMILIES = Families()

ACTIVATION: Arguments = {"act_type": "relu"}


def fuse(layer: Arguments, activation: Arguments) -> Arguments:
    """The arguments of a layer and its activation, with tensors of the operators' only dtype."""
    made = {**layer, **activation}
    return {n: in_single(v) if isinstance(v, TensorSpec) else v for n, v in made.items()}


@FAMILIES.add("_sg_mkldnn_conv", "_sg_onednn_conv")
def convolution(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of ResNet-50: the first, a 3 x 3, and a widening one, which has no activation."""
    maps = feature_maps(size)
    first = Window(photographs(size), kernel=7, stride=2, pad=3)
    for why, window, activation in (
        ("ResNet-50, the first layer, with its ReLU", first, ACTIVATION),
        ("ResNet-50, stage 1, 3 x 3, with its ReLU", Window(maps, pad=1), ACTIVATION),
        ("ResNet-50, stage 1, widening, no ReLU", Window(maps, filters=4 * FILTERS, kernel=1), {}),
    ):
        made = convolution_arguments(operator, convolutions.layer(window))
        yield {WHY: why, **fuse(made, activation)}


@FAMILIES.add("_sg_mkldnn_fully_connected", "_sg_onednn_fully_connected")
def fully_connected(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers token by token: a feed-forward block's first, and a projection, without activation."""
    for why, hidden, activation in (
        ("a feed-forward block as wide as BERT-base's, with ReLU", FEED_FORWARD, ACTIVATION),
        ("BERT-base, a projection of each token, without an activation", UNITS, {}),
    ):
        made = dense_arguments(operator, layers.layer(sentences(size), hidden))
        yield {WHY: why, **fuse(made, activation)}
