"""The networks as Gluon blocks, which hybridize."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mxnet.gluon import HybridBlock, nn, rnn

from opperf.models.weights import (
    Extents,
    Residual,
    bottom_widths,
    levels,
    residual_blocks,
    top_widths,
    widths,
)


class Perceptron(HybridBlock):
    """Dense layers with ReLU between them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        with self.name_scope():
            last = len(sizes) - 2
            self.layers = nn.HybridSequential()
            for number, (inputs, outputs) in enumerate(zip(sizes, sizes[1:], strict=False)):
                activation = None if number == last else "relu"
                self.layers.add(nn.Dense(outputs, activation, in_units=inputs))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.layers(x)


class DLRM(HybridBlock):
    """A recommendation model: dense features and bags of categories, which interact in pairs."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        with self.name_scope():
            self.bottom = Perceptron(bottom_widths(extents))
            self.tables = nn.HybridSequential()
            for _ in range(extents["tables"]):
                self.tables.add(nn.Embedding(extents["rows"], extents["embedding"]))
            self.top = Perceptron(top_widths(extents))

    def hybrid_forward(self, F: Any, features: Any, categories: Any) -> Any:
        dense = F.relu(self.bottom(features))
        bags = [
            table(F.slice_axis(categories, axis=1, begin=number, end=number + 1)).sum(axis=2)
            for number, table in enumerate(self.tables)
        ]
        vectors = F.concat(dense.expand_dims(1), *bags, dim=1)
        products = F.batch_dot(vectors, vectors, transpose_b=True)
        # Below the diagonal: the products of each vector with those before it.
        pairs = [
            F.slice(products, begin=(None, row, 0), end=(None, row + 1, row)).flatten()
            for row in range(1, len(self.tables) + 1)
        ]
        return self.top(F.concat(dense, *pairs, dim=1))


def mlp(extents: Extents) -> HybridBlock:
    """Returns a multilayer perceptron."""
    return Perceptron(widths(extents))


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2D:
    """Returns a convolution whose outputs are as many as its inputs over the stride."""
    padding = kernel // 2
    return nn.Conv2D(outputs, kernel, stride, padding, use_bias=False, in_channels=inputs)


class ResidualBlock(HybridBlock):
    """Two convolutions, added to their inputs."""

    def __init__(self, block: Residual) -> None:
        super().__init__()
        with self.name_scope():
            self.conv1 = convolution(block.inputs, block.outputs, 3, block.stride)
            self.norm1 = nn.BatchNorm(in_channels=block.outputs)
            self.conv2 = convolution(block.outputs, block.outputs, 3)
            self.norm2 = nn.BatchNorm(in_channels=block.outputs)
            self.has_projection = block.has_projection
            if block.has_projection:
                self.shortcut = convolution(block.inputs, block.outputs, 1, block.stride)
                self.shortcut_norm = nn.BatchNorm(in_channels=block.outputs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.has_projection:
            x = self.shortcut_norm(self.shortcut(x))
        return F.relu(x + y)


class ResNet18(HybridBlock):
    """A classifier of images."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        with self.name_scope():
            width = extents["width"]
            self.stem = convolution(3, width, 7, stride=2)
            self.stem_norm = nn.BatchNorm(in_channels=width)
            self.pool = nn.MaxPool2D(3, 2, 1)
            self.blocks = nn.HybridSequential()
            self.blocks.add(*map(ResidualBlock, residual_blocks(width)))
            self.mean = nn.GlobalAvgPool2D()
            self.head = nn.Dense(extents["classes"], in_units=8 * width)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        x = self.pool(F.relu(self.stem_norm(self.stem(images))))
        return self.head(self.mean(self.blocks(x)))


class TwoConvolutions(HybridBlock):
    """The convolutions of a level of a U-Net."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        with self.name_scope():
            self.conv1 = convolution(inputs, outputs, 3)
            self.norm1 = nn.BatchNorm(in_channels=outputs)
            self.conv2 = convolution(outputs, outputs, 3)
            self.norm2 = nn.BatchNorm(in_channels=outputs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(x)))


class Up(HybridBlock):
    """A level on the way up: twice as many pixels, joined with those of the way down."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        with self.name_scope():
            self.upsample = nn.Conv2DTranspose(outputs, 2, 2, in_channels=2 * outputs)
            self.merge = TwoConvolutions(2 * outputs, outputs)

    def hybrid_forward(self, F: Any, x: Any, skipped: Any) -> Any:
        return self.merge(F.concat(skipped, self.upsample(x), dim=1))


class UNet(HybridBlock):
    """A classifier of pixels."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        with self.name_scope():
            channels = levels(extents)
            self.down = nn.HybridSequential()
            for inputs, outputs in zip([3, *channels], channels, strict=False):
                self.down.add(TwoConvolutions(inputs, outputs))
            self.pool = nn.MaxPool2D(2, 2)
            self.up = nn.HybridSequential()
            self.up.add(*map(Up, reversed(channels[:-1])))
            self.head = nn.Conv2D(extents["classes"], 1, in_channels=channels[0])

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        first, *others = self.down
        x = first(images)
        skipped = []
        for down in others:
            skipped.append(x)
            x = down(self.pool(x))
        for up in self.up:
            x = up(x, skipped.pop())
        return self.head(x)


HIDDEN = -1e4
"""Added to the scores of later tokens, for a softmax of 0; a number that float16 has."""


def dense(inputs: int, outputs: int) -> nn.Dense:
    """Returns a dense layer over the last axis."""
    return nn.Dense(outputs, flatten=False, in_units=inputs)


class Attention(HybridBlock):
    """Self-attention of several heads."""

    def __init__(self, width: int, heads: int, is_causal: bool) -> None:
        super().__init__()
        with self.name_scope():
            self.heads, self.is_causal = heads, is_causal
            self.scale = 1 / math.sqrt(width // heads)
            self.qkv = dense(width, 3 * width)
            self.output = dense(width, width)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        # Of (batch, length, 3 * width): three of (batch * heads, length, width // heads).
        parts = self.qkv(x).reshape((0, 0, 3, self.heads, -1))
        query, key, value = (
            F.slice_axis(parts, axis=2, begin=place, end=place + 1)
            .reshape((0, 0, -3, -1))
            .transpose((0, 2, 1, 3))
            .reshape((-3, 0, 0))
            for place in range(3)
        )
        scores = F.batch_dot(query * self.scale, key, transpose_b=True)
        if self.is_causal:
            positions = F.contrib.arange_like(scores, axis=1)
            later = F.broadcast_greater(positions.expand_dims(0), positions.expand_dims(1))
            scores = F.broadcast_add(scores, (later * HIDDEN).expand_dims(0))
        mixed = F.batch_dot(F.softmax(scores), value)
        joined = mixed.reshape((-4, -1, self.heads, 0, 0)).transpose((0, 2, 1, 3))
        return self.output(joined.reshape((0, 0, -3)))


class Block(HybridBlock):
    """The layers of a transformer's block: attention, and two dense layers."""

    def __init__(self, extents: Extents, is_causal: bool) -> None:
        super().__init__()
        with self.name_scope():
            width = extents["width"]
            self.norm1 = nn.LayerNorm(in_channels=width)
            self.attention = Attention(width, extents["heads"], is_causal)
            self.norm2 = nn.LayerNorm(in_channels=width)
            self.expand = dense(width, 4 * width)
            self.activation = nn.GELU()
            self.contract = dense(4 * width, width)

    def transformed(self, x: Any) -> Any:
        """Returns the outputs of the dense layers."""
        return self.contract(self.activation(self.expand(x)))


class EncoderBlock(Block):
    """A block that normalises sums, as BERT's."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.transformed(x))


class DecoderBlock(Block):
    """A block that normalises its inputs, as GPT-2's."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.transformed(self.norm2(x))


class Embedded(HybridBlock):
    """Tokens and positions as vectors."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        with self.name_scope():
            width = extents["width"]
            self.tokens = nn.Embedding(extents["vocabulary"], width)
            self.positions = nn.Embedding(extents["length"], width)

    def embedded(self, F: Any, tokens: Any) -> Any:
        """Returns the vectors of tokens at their positions."""
        positions = self.positions(F.contrib.arange_like(tokens, axis=1))
        return F.broadcast_add(self.tokens(tokens), positions.expand_dims(0))


class Encoder(Embedded):
    """A classifier of sequences."""

    def __init__(self, extents: Extents) -> None:
        super().__init__(extents)
        with self.name_scope():
            self.norm = nn.LayerNorm(in_channels=extents["width"])
            self.blocks = nn.HybridSequential()
            for _ in range(extents["layers"]):
                self.blocks.add(EncoderBlock(extents, is_causal=False))
            self.head = nn.Dense(extents["classes"], in_units=extents["width"])

    def hybrid_forward(self, F: Any, tokens: Any) -> Any:
        x = self.blocks(self.norm(self.embedded(F, tokens)))
        return self.head(F.slice_axis(x, axis=1, begin=0, end=1))


class GPT(Embedded):
    """A language model of causal attention."""

    def __init__(self, extents: Extents) -> None:
        super().__init__(extents)
        with self.name_scope():
            self.blocks = nn.HybridSequential()
            for _ in range(extents["layers"]):
                self.blocks.add(DecoderBlock(extents, is_causal=True))
            self.norm = nn.LayerNorm(in_channels=extents["width"])
            self.head = nn.Dense(
                extents["vocabulary"],
                use_bias=False,
                flatten=False,
                in_units=extents["width"],
                params=self.tokens.params,
            )

    def hybrid_forward(self, F: Any, tokens: Any) -> Any:
        return self.head(self.norm(self.blocks(self.embedded(F, tokens))))


class LSTMLanguageModel(HybridBlock):
    """A language model of LSTM layers."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        with self.name_scope():
            width = extents["width"]
            self.tokens = nn.Embedding(extents["vocabulary"], width)
            self.lstm = rnn.LSTM(width, extents["layers"], layout="NTC", input_size=width)
            self.head = dense(width, extents["vocabulary"])

    def hybrid_forward(self, F: Any, tokens: Any) -> Any:
        return self.head(self.lstm(self.tokens(tokens)))
