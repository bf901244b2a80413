"""Networks of sequences: a transformer encoder, a GPT, and a language model of LSTM layers."""

from __future__ import annotations

import math
from typing import Any

from mxnet.gluon import HybridBlock, nn, rnn

from opperf.models.weights import Extents

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
