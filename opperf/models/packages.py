"""Suites whose models are in other packages, or in a folder."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Sequence
from typing import Any

from opperf.errors import UsageError, one_line, suggest, unknown
from opperf.frameworks.installed import is_installed, package_version
from opperf.frameworks.models import Model
from opperf.models.base import Options, SuiteModel


class PackageSuite:
    """A suite whose models are listed and built by a module: its functions `models(folder)` and
    `build(name, options)`. The module imports the framework, so that it is imported last."""

    def __init__(self, framework: str, module: str, requirement: str) -> None:
        self.frameworks = (framework,)
        self.requirement = requirement
        self._module = module

    def models(self, framework: str, folder: str) -> Sequence[SuiteModel]:
        """Returns the models. Raises `ImportError` and `UsageError`."""
        found: Sequence[SuiteModel] = importlib.import_module(self._module).models(folder)
        return found

    def build(self, framework: str, name: str, options: Options) -> Model:
        """Returns a model with its inputs, on the CPU and in float32. Raises `ImportError`,
        `UsageError` and `UnsupportedError`."""
        built: Model = importlib.import_module(self._module).build(name, options)
        return built


TORCHVISION = PackageSuite("torch", "opperf.models.torch.torchvision_models", "torchvision")
TIMM = PackageSuite("torch", "opperf.models.torch.timm_models", "timm torchvision")
TRANSFORMERS = PackageSuite("torch", "opperf.models.torch.transformers_models", "transformers")
TORCHBENCH = PackageSuite("torch", "opperf.models.torch.torchbench_models", "pyyaml")
GLUON = PackageSuite("mxnet", "opperf.models.mxnet.model_zoo", "mxnet")


def import_package(name: str, beside: Collection[str] = ()) -> Any:
    """Returns a package, imported. Raises `ImportError` if it is missing, or cannot be imported
    with what is installed `beside` it."""
    loaded = set(sys.modules)
    try:
        return importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
            raise
        # What was imported before the error would give another error the next time.
        for module in set(sys.modules) - loaded:
            if module.partition(".")[0] == name:
                del sys.modules[module]
        versions = [
            f"{package} {package_version(package)}" for package in filter(is_installed, beside)
        ]
        others = f" beside {' and '.join(versions)}" if versions else ""
        cause = one_line(f"{type(error).__name__}: {error}")
        raise ImportError(
            f"{name} {package_version(name)} cannot be imported{others} ({cause}); use packages "
            "that belong together, by --python in an environment of their own"
        ) from error


BATCHES = {"small": 2, "default": 8, "large": 32}
"""Images at once by the size of a classifier: two at least, as batch normalisation trains on the
spread of values, and a CPU takes seconds for many."""


def check_name(suite: str, name: str, names: Collection[str]) -> None:
    """Raises `UsageError`, with near names, if a suite lacks a model of this name."""
    if name not in names:
        raise UsageError(f"suite {suite} has no model {name!r}{suggest(name, names)}")


def check_size(suite: str, name: str, size: str, sizes: Collection[str]) -> None:
    """Raises `UsageError` if a model of a suite has no such size."""
    if size not in sizes:
        raise unknown("size", size, sizes, f"{name} of suite {suite}")
