"""Models of PyTorch: a network's module, its weights, and what its training needs.

Random inputs and labels for models of PyTorch, and losses that several suites have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from opperf.frameworks.models import Model
from opperf.models.networks import CLASSES, CLICKS, PIXELS, Instance, Optimizer
from opperf.models.torch.networks import DLRM, GPT, Encoder, LSTMLanguageModel, ResNet18, UNet, mlp
from opperf.models.weights import Extents

MODULES: Mapping[str, Callable[[Extents], nn.Module]] = {
    "dlrm": DLRM,
    "gpt": GPT,
    "lstm": LSTMLanguageModel,
    "mlp": mlp,
    "resnet18": ResNet18,
    "transformer": Encoder,
    "unet": UNet,
}


def _cross_entropy(outputs: Tensor, target: Tensor) -> Tensor:
    return functional.cross_entropy(outputs.flatten(0, -2), target.flatten())


LOSSES: Mapping[str, Callable[..., Tensor]] = {
    CLASSES: _cross_entropy,
    PIXELS: functional.cross_entropy,
    CLICKS: functional.binary_cross_entropy_with_logits,
}

OPTIMIZERS: Mapping[str, Callable[[Optimizer], Callable[..., torch.optim.Optimizer]]] = {
    "sgd": lambda made: partial(torch.optim.SGD, lr=made.rate, momentum=made.momentum),
    "adam": lambda made: partial(torch.optim.Adam, lr=made.rate),
}


def _tensor(array: np.ndarray[Any, Any]) -> Tensor:
    """Returns a tensor; of integers int64, which losses need."""
    tensor = torch.from_numpy(array)
    return tensor if tensor.is_floating_point() else tensor.long()


def build(instance: Instance) -> Model:
    """Returns a network with its inputs, on the CPU and in float32."""
    network = instance.network
    module = MODULES[instance.name](instance.extents)
    drawn = {name: torch.from_numpy(array) for name, _, array in instance.weights()}
    # The counts of batches, which nothing reads, keep their zeros.
    module.load_state_dict(module.state_dict() | drawn)
    module.train(instance.phase == "train")
    return Model(
        call=module,
        inputs=[_tensor(array) for _, array in instance.inputs()],
        loss=LOSSES[network.loss],
        optimizer=OPTIMIZERS[network.optimizer.name](network.optimizer),
        targets=[_tensor(instance.target())],
    )


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
