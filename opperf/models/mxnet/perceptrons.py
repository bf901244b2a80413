"""Networks of dense layers: a multilayer perceptron, and DLRM, which has two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mxnet.gluon import HybridBlock, nn

from opperf.models.weights import Extents, bottom_widths, top_widths, widths


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
