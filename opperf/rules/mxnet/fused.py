"""Layers fused with their activation, which MXNet has oneDNN compute together where a graph has
both."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, UNITS, sentences
from opperf.rules.engine import Families
from opperf.rules.families import convolution as convolutions
from opperf.rules.families import layers
from opperf.rules.mxnet.attention import in_single
from opperf.rules.mxnet.operations.layers import convolution_arguments, dense_arguments
from opperf.rules.pictures import FILTERS, Window, feature_maps, photographs
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

FAMILIES = Families()

ACTIVATION: Arguments = {"act_type": "relu"}


def fuse(layer: Arguments, activation: Arguments) -> Arguments:
    """The arguments of a layer and its activation, with tensors of the only dtype that these
    operators take."""
    return {
        **{n: in_single(v) if isinstance(v, TensorSpec) else v for n, v in layer.items()},
        **activation,
    }


@FAMILIES.add("_sg_mkldnn_conv", "_sg_onednn_conv")
def convolution(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of ResNet-50: the first, a bottleneck's 3 x 3, and its widening one, which has no
    activation."""
    maps = feature_maps(size)
    for window, activation in (
        (Window(photographs(size), kernel=7, stride=2, pad=3), ACTIVATION),
        (Window(maps, pad=1), ACTIVATION),
        (Window(maps, filters=4 * FILTERS, kernel=1), {}),
    ):
        yield fuse(convolution_arguments(operator, convolutions.layer(window)), activation)


@FAMILIES.add("_sg_mkldnn_fully_connected", "_sg_onednn_fully_connected")
def fully_connected(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of BERT-base, token by token: the first of a feed-forward block, with its
    activation, and a projection, which has none."""
    for hidden, activation in ((FEED_FORWARD, ACTIVATION), (UNITS, {})):
        yield fuse(dense_arguments(operator, layers.layer(sentences(size), hidden)), activation)
