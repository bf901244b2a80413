"""Random inputs and labels for models of PyTorch, and losses that several suites have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

AUXILIARY = 0.3
"""Weight of the loss of a classifier's auxiliary outputs: that of GoogLeNet (Szegedy et al. 2015)
in its training."""


class Draws:
    """Draws tensors on the CPU, by a seed."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        """Returns normalised values, like a normalised image's."""
        return torch.randn(shape, generator=self._generator, device="cpu")

    def uniform(self, *shape: int) -> Tensor:
        """Returns values from 0 to 1."""
        return torch.rand(shape, generator=self._generator, device="cpu")

    def below(self, limit: int, *shape: int) -> Tensor:
        """Returns integers from 0 to below a limit."""
        return torch.randint(limit, shape, generator=self._generator, device="cpu")


def class_loss(outputs: Any, labels: Tensor) -> Tensor:
    """Returns the cross entropy of classes, over the second axis; that of auxiliary outputs after
    the first is added with a weight."""
    if isinstance(outputs, Tensor):
        return functional.cross_entropy(outputs, labels)
    listed = [*outputs.values()] if isinstance(outputs, Mapping) else [*outputs]
    losses = [functional.cross_entropy(output, labels) for output in listed if output is not None]
    return losses[0] + AUXILIARY * sum(losses[1:], torch.zeros_like(losses[0]))
