"""The suite `dummy` of PyTorch/XLA's benchmarks: one small model, to try experiments with."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from opperf.errors import unknown
from opperf.frameworks.models import Model
from opperf.models.base import Options, SuiteModel

NAME = "dummy"


class Dummy:
    """The suite of this model."""

    frameworks = ("torch",)
    requirement = ""

    def models(self, framework: str, folder: str) -> Sequence[SuiteModel]:
        """Returns the model."""
        why = "dense layers of 32, 512, 512 and 32 with ReLU, softmax (PyTorch/XLA's benchmarks)"
        return [SuiteModel(NAME, tags=("dense",), why=why)]

    def build(self, framework: str, name: str, options: Options) -> Model:
        """Returns the model, on the CPU and in float32. Raises `UsageError`."""
        if name != NAME:
            raise unknown("model", name, [NAME], "suite dummy")
        if options.size != "default":
            raise unknown("size", options.size, ["default"], "suite dummy")
        built: Model = importlib.import_module("opperf.models.torch.dummy").build(options)
        return built


SUITE = Dummy()
