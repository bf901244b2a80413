"""The networks as modules of PyTorch: of dense layers, of convolutions, and of sequences."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from opperf.models.weights import (
    Extents,
    Residual,
    bottom_widths,
    levels,
    residual_blocks,
    top_widths,
    widths,
)


class Perceptron(nn.Module):
    """Dense layers with ReLU between them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        pairs = zip(sizes, sizes[1:], strict=False)
        self.layers = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairs)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = functional.relu(layer(x))
        return self.layers[-1](x)


class DLRM(nn.Module):
    """A recommendation model: dense features and bags of categories, which interact in pairs."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        self.bottom = Perceptron(bottom_widths(extents))
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(extents["rows"], extents["embedding"], mode="sum")
            for _ in range(extents["tables"])
        )
        self.top = Perceptron(top_widths(extents))
        features = extents["tables"] + 1
        self.register_buffer("pairs", torch.tril_indices(features, features, -1), persistent=False)
        self.pairs: Tensor

    def forward(self, features: Tensor, categories: Tensor) -> Tensor:
        dense = functional.relu(self.bottom(features))
        bags = [table(categories[:, number]) for number, table in enumerate(self.tables)]
        vectors = torch.stack([dense, *bags], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        interactions = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([dense, interactions], dim=1))


def mlp(extents: Extents) -> nn.Module:
    """Returns a multilayer perceptron."""
    return Perceptron(widths(extents))


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """Returns a convolution whose outputs are as many as its inputs over the stride."""
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class ResidualBlock(nn.Module):
    """Two convolutions, added to their inputs."""

    def __init__(self, block: Residual) -> None:
        super().__init__()
        self.conv1 = convolution(block.inputs, block.outputs, 3, block.stride)
        self.norm1 = nn.BatchNorm2d(block.outputs)
        self.conv2 = convolution(block.outputs, block.outputs, 3)
        self.norm2 = nn.BatchNorm2d(block.outputs)
        self.shortcut: nn.Conv2d | None = None
        if block.has_projection:
            self.shortcut = convolution(block.inputs, block.outputs, 1, block.stride)
            self.shortcut_norm = nn.BatchNorm2d(block.outputs)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.shortcut is not None:
            x = self.shortcut_norm(self.shortcut(x))
        return functional.relu(y + x)


class ResNet18(nn.Module):
    """A classifier of images."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        width = extents["width"]
        self.stem = convolution(3, width, 7, stride=2)
        self.stem_norm = nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(*map(ResidualBlock, residual_blocks(width)))
        self.head = nn.Linear(8 * width, extents["classes"])

    def forward(self, images: Tensor) -> Tensor:
        x = functional.relu(self.stem_norm(self.stem(images)))
        x = functional.max_pool2d(x, 3, stride=2, padding=1)
        x = self.blocks(x)
        return self.head(x.mean(dim=(2, 3)))


class TwoConvolutions(nn.Module):
    """The convolutions of a level of a U-Net."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1 = convolution(inputs, outputs, 3)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = convolution(outputs, outputs, 3)
        self.norm2 = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(x)))


class Up(nn.Module):
    """A level on the way up: twice as many pixels, joined with those of the way down."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.upsample = nn.ConvTranspose2d(2 * outputs, outputs, 2, stride=2)
        self.merge = TwoConvolutions(2 * outputs, outputs)

    def forward(self, x: Tensor, skipped: Tensor) -> Tensor:
        return self.merge(torch.cat([skipped, self.upsample(x)], dim=1))


class UNet(nn.Module):
    """A classifier of pixels."""

    def __init__(self, extents: Extents) -> None:
        super().__init__()
        channels = levels(extents)
        pairs = zip([3, *channels], channels, strict=False)
        self.down = nn.ModuleList(TwoConvolutions(inputs, outputs) for inputs, outputs in pairs)
        self.up = nn.ModuleList(map(Up, reversed(channels[:-1])))
        self.head = nn.Conv2d(channels[0], extents["classes"], 1)

    def forward(self, images: Tensor) -> Tensor:
        x = self.down[0](images)
        skipped = []
        for down in self.down[1:]:
            skipped.append(x)
            x = down(functional.max_pool2d(x, 2))
        for up in self.up:
            x = up(x, skipped.pop())
        return self.head(x)


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
        return self.output(y.transpose(1, 2).reshape(batch, length, width))


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
        return self.contract(functional.gelu(self.expand(x)))


class EncoderBlock(Block):
    """A block that normalises sums, as BERT's."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.transformed(x))


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
        return self.tokens(tokens) + self.positions(positions)


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
        return self.head(x[:, 0])


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
        return self.head(outputs)
