"""Networks of dense layers: a multilayer perceptron, and DLRM, which has two."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from opperf.models.weights import Extents, bottom_widths, top_widths, widths


class Perceptron(nn.Module):
    """Dense layers with ReLU between them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        pairs = zip(sizes, sizes[1:], strict=False)
        self.layers = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairs)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = functional.relu(layer(x))
        last: Tensor = self.layers[-1](x)
        return last


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
        clicks: Tensor = self.top(torch.cat([dense, interactions], dim=1))
        return clicks


def mlp(extents: Extents) -> nn.Module:
    """Returns a multilayer perceptron."""
    return Perceptron(widths(extents))
