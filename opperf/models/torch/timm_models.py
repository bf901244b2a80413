"""timm's models with random weights, and images of the size that each is configured for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from opperf.frameworks.models import Model
from opperf.models.base import SIZES, Options, SuiteModel, batch_of
from opperf.models.packages import BATCHES, check_name, check_size, first_sentence, import_package
from opperf.models.torch.build import Draws, class_loss

SUITE = "timm"


def _timm() -> Any:
    return import_package("timm", beside=["torchvision", "torch"])


def models(folder: str) -> Sequence[SuiteModel]:
    """Returns all of timm's models. Raises `ImportError`."""
    timm = _timm()
    return [_listed(timm, name) for name in sorted(timm.list_models())]


def _listed(timm: Any, name: str) -> SuiteModel:
    function = timm.models.model_entrypoint(name)
    family = function.__module__.rpartition(".")[2]
    why = first_sentence(function, f"timm's {name}")
    return SuiteModel(name, sizes=SIZES, tags=("vision", "classification", family), why=why)


def build(name: str, options: Options) -> Model:
    """Returns a model with its inputs. Raises `ImportError` and `UsageError`."""
    timm = _timm()
    check_name(SUITE, name, timm.list_models())
    check_size(SUITE, name, options.size, SIZES)
    batch = batch_of(options, BATCHES[options.size])
    torch.manual_seed(options.seed)
    module = timm.create_model(name, pretrained=False)
    draws = Draws(options.seed)
    images = draws.normal(batch, *timm.data.resolve_model_data_config(module)["input_size"])
    # A network of features alone has no classes, and the mean of its outputs as its loss.
    classes = module.num_classes
    return Model(
        call=module,
        inputs=[images],
        loss=class_loss if classes else None,
        optimizer=partial(torch.optim.SGD, lr=0.01, momentum=0.9),
        targets=[draws.below(classes, batch)] if classes else [],
    )
