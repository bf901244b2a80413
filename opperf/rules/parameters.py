"""Shapes of the parameters of whole models, in their order, as optimizers get them.

A model is narrower at size small, and its larger relative at size large: the width of a network is
what grows, not the number of its parameters' tensors.
"""

from __future__ import annotations

from collections.abc import Iterator

from opperf.rules.bert import FEED_FORWARD, UNITS
from opperf.rules.image_shapes import CLASSES
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset

STAGES = ((3, 256), (4, 512), (6, 1024), (3, 2048))
"""Bottlenecks and output channels of each stage of ResNet-50."""
BOTTLENECK = 4
"""Factor of a bottleneck's output channels to those inside."""
STEM = 64

LARGE_UNITS = 1024
"""BERT-large's width of a token's vector."""
MINI_UNITS, MINI_LAYERS = 256, 4
"""BERT-mini's width, and its layers: more than one update takes the parameters of. An update of as
many parameters of BERT-base takes nine times as long, almost a second."""


def channels(size: Preset, default: int) -> int:
    """Number of a ResNet's channels: as in the published network from the default size on."""
    return min(default, size.extent(default))


def inner_channels(size: Preset, outside: int) -> int:
    """Number of channels inside a bottleneck; at size large as in Wide ResNet-50-2."""
    default = outside // BOTTLENECK
    return min(2 * default, size.extent(default))


def convolution(filters: int, inputs: int, kernel: int) -> tuple[Shape, Shape, Shape]:
    """Shapes of a layer's weights, and of the scale and shift of its batch normalisation."""
    return (filters, inputs, kernel, kernel), (filters,), (filters,)


def resnet_50(size: Preset) -> tuple[Shape, ...]:
    """Shapes of ResNet-50's 161 parameters."""
    return tuple(_resnet_50(size))


def _resnet_50(size: Preset) -> Iterator[Shape]:
    inputs = channels(size, STEM)
    yield from convolution(inputs, 3, 7)
    for units, filters in STAGES:
        inside, outside = inner_channels(size, filters), channels(size, filters)
        for unit in range(units):
            yield from convolution(inside, inputs, 1)
            yield from convolution(inside, inside, 3)
            yield from convolution(outside, inside, 1)
            if unit == 0:
                # The shortcut, which widens too.
                yield from convolution(outside, inputs, 1)
            inputs = outside
    yield (CLASSES, inputs)
    yield (CLASSES,)


def dense(outputs: int, inputs: int) -> tuple[Shape, Shape]:
    """Shapes of a dense layer's weights and bias."""
    return (outputs, inputs), (outputs,)


def bert_layer(size: Preset, width: int = UNITS) -> tuple[Shape, ...]:
    """Shapes of the 16 parameters of BERT-base's layer, or of a width; of BERT-large at large."""
    units = min(LARGE_UNITS, size.extent(width))
    inside = units * FEED_FORWARD // UNITS
    norm: tuple[Shape, Shape] = ((units,), (units,))
    # Queries, keys, values and the output of attention.
    attention = (*dense(units, units) * 4, *norm)
    return (*attention, *dense(inside, units), *dense(units, inside), *norm)


def mini_layers(size: Preset) -> tuple[Shape, ...]:
    """Shapes of the parameters of all layers of BERT-mini, without embeddings."""
    return bert_layer(size, MINI_UNITS) * MINI_LAYERS


def feed_forward(size: Preset) -> tuple[Shape, ...]:
    """Shapes of the weights and biases of a feed-forward block of a layer of BERT."""
    *_, up, up_bias, down, down_bias, _, _ = bert_layer(size)
    return up, up_bias, down, down_bias
