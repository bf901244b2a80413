"""Networks of sequences: a transformer encoder, a GPT, and a language model of LSTM layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from opperf.models.weights import Extents


class Attention(nn.Module):
    """Self-attention of several heads."""

    def __init__(self, width: int, heads: int, is_causal: bool) -> None:
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        y = functional.scaled_dot_product_attention(query, key, value, is_causal=self.is_causal)
        mixed: Tensor = self.output(y.transpose(1, 2).reshape(batch, length, width))
        return mixed


class Block(nn.Module):
    """The layers of a transformer's block: attention, and two dense layers."""

    def __init__(self, extents: Extents, is_causal: bool) -> None:
        super().__init__()
        width = extents["width"]
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, extents["heads"], is_causal)
        self.norm2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)

    def transformed(self, x: Tensor) -> Tensor:
        """Returns the outputs of the dense layers."""
        made: Tensor = self.contract(functional.gelu(self.expand(x)))
        return made


class EncoderBlock(Block):
    """A block that normalises sums, as BERT's."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        normed: Tensor = self.norm2(x + self.transformed(x))
        return normed


class DecoderBlock(Block):
    """A block that normalises its inputs, as GPT-2's."""

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.transformed(self.norm2(x))


class Embedded(nn.Module):
    """Tokens and positions as vectors."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        self.tokens = nn.Embedding(extents["vocabulary"], extents["width"])
        self.positions = nn.Embedding(extents["length"], extents["width"])

    def embedded(self, tokens: Tensor) -> Tensor:
        """Returns the vectors of tokens at their positions."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        vectors: Tensor = self.tokens(tokens) + self.positions(positions)
        return vectors


class Encoder(Embedded):
    """A classifier of sequences."""

    def __init__(self, extents: Extents) -> None:
        super().__init__(extents)
        width, layers = extents["width"], range(extents["layers"])
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.Sequential(*(EncoderBlock(extents, is_causal=False) for _ in layers))
        self.head = nn.Linear(width, extents["classes"])

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.blocks(self.norm(self.embedded(tokens)))
        classes: Tensor = self.head(x[:, 0])
        return classes


class GPT(Embedded):
    """A language model of causal attention."""

    def __init__(self, extents: Extents) -> None:
        super().__init__(extents)
        layers = range(extents["layers"])
        self.blocks = nn.Sequential(*(DecoderBlock(extents, is_causal=True) for _ in layers))
        self.norm = nn.LayerNorm(extents["width"])

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.norm(self.blocks(self.embedded(tokens)))
        return functional.linear(x, self.tokens.weight)


class LSTMLanguageModel(nn.Module):
    """A language model of LSTM layers."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        width = extents["width"]
        self.tokens = nn.Embedding(extents["vocabulary"], width)
        self.lstm = nn.LSTM(width, width, extents["layers"], batch_first=True)
        self.head = nn.Linear(width, extents["vocabulary"])

    def forward(self, tokens: Tensor) -> Tensor:
        outputs, _ = self.lstm(self.tokens(tokens))
        logits: Tensor = self.head(outputs)
        return logits
