"""The model of PyTorch/XLA's suite `dummy`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import nn
from torch.nn import functional

from opperf.frameworks.models import Model
from opperf.models.base import Options, SuiteModel, batch_of
from opperf.models.packages import check_name, check_size

SUITE = "dummy"
"""The name of its only model, too."""

SEED = 1337
"""That of PyTorch/XLA's runner, for opperf's seed 0."""

BATCH_SIZE = 16

RATE = 0.01
"""Learning rate of the runner's Adam."""


def models(folder: str) -> Sequence[SuiteModel]:
    """Returns the model."""
    why = "dense layers of 32, 512, 512 and 32 with ReLU, softmax (PyTorch/XLA's benchmarks)"
    return [SuiteModel(SUITE, tags=("dense",), why=why)]


def build(name: str, options: Options) -> Model:
    """Returns the model with its inputs. The runner has no loss for it; this one is a mean squared
    error. Raises `UsageError`."""
    check_name(SUITE, name, [SUITE])
    check_size(SUITE, name, options.size, ["default"])
    batch = batch_of(options, BATCH_SIZE)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED + options.seed)
        module = nn.Sequential(
            nn.Linear(32, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 32),
            nn.Softmax(dim=1),
        )
        inputs, target = torch.rand(batch, 32), torch.rand(batch, 32)
    module.train(options.phase == "train")
    return Model(
        call=module,
        inputs=[inputs],
        loss=functional.mse_loss,
        optimizer=partial(torch.optim.Adam, lr=RATE),
        targets=[target],
    )
