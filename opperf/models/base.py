"""The interface of a suite of models, and the suites that there are."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol

from opperf.errors import UnsupportedError, UsageError, unknown
from opperf.frameworks.models import Model
from opperf.model import Struct

GROUP = "opperf.models"
"""Entry points of other packages, each a `Suite` or a function that returns one."""

BUILT_IN: Mapping[str, str] = {
    "opperf": "opperf.models.networks:SUITE",
    "dummy": "opperf.models.packages:DUMMY",
    "gluon": "opperf.models.packages:GLUON",
    "timm": "opperf.models.packages:TIMM",
    "torchbench": "opperf.models.packages:TORCHBENCH",
    "torchvision": "opperf.models.packages:TORCHVISION",
    "transformers": "opperf.models.packages:TRANSFORMERS",
}
"""Suites that need no entry point."""

SIZES = ("small", "default", "large")
"""Sizes of a model, of which a suite may have several."""


class SuiteModel(Struct, frozen=True):
    """A model of a suite, as lists show it."""

    name: str
    sizes: tuple[str, ...] = ("default",)
    phases: tuple[str, ...] = ("predict", "train")
    tags: tuple[str, ...] = ()
    why: str = ""
    """The network in one line, with its source."""
    tier: int | None = None
    """Rank of importance, from 1; None without one."""


class Options(Struct, frozen=True):
    """How a model is built."""

    size: str = "default"
    batch_size: int | None = None
    """None for the suite's own."""
    phase: str = "predict"
    seed: int = 0
    device: str = "cpu(0)"
    dtype: str = "float32"
    folder: str = ""
    """Folder of the suite's files, for one that has some."""


def batch_of(options: Options, own: int) -> int:
    """Returns the batch size of a model, the suite's own without one in the options. Raises
    `UsageError` for a batch without an example."""
    if options.batch_size is None:
        return own
    if options.batch_size < 1:
        raise UsageError(f"a batch of {options.batch_size}; give 1 or more")
    return options.batch_size


class Suite(Protocol):
    """A collection of models. Both methods run in the process of the framework, and may import
    it."""

    frameworks: tuple[str, ...]
    """Frameworks that it has models of."""
    requirement: str
    """Argument of `pip install` where its package is missing; empty if it needs none."""

    def models(self, framework: str, folder: str) -> Sequence[SuiteModel]:
        """Returns its models, sorted by name. Raises `ImportError` without its package, and
        `UsageError` for a folder without its files."""
        ...

    def build(self, framework: str, name: str, options: Options) -> Model:
        """Returns a model with its inputs. Raises `UsageError` for what it cannot build."""
        ...


@functools.cache
def available() -> dict[str, str]:
    """Returns every suite's place in Python, `module:attribute`, by name."""
    return {**BUILT_IN, **{entry.name: entry.value for entry in entry_points(group=GROUP)}}


@functools.cache
def find_suite(name: str) -> Suite:
    """Returns a suite. Raises `UsageError` for an unknown one."""
    places = available()
    if name not in places:
        raise unknown("suite", name, places)
    module, _, attribute = places[name].partition(":")
    found: Any = getattr(importlib.import_module(module), attribute)
    made: Suite = found() if isinstance(found, type) else found
    return made


def models_of(name: str, framework: str, folder: str = "") -> tuple[SuiteModel, ...]:
    """Returns the models that a suite has for a framework. Raises `UsageError` for a framework or
    folder that it has none for, and `UnsupportedError`, with what to install, without its
    package."""
    suite = find_suite(name)
    if framework not in suite.frameworks:
        raise UsageError(
            f"suite {name} has no models of {framework}, but of {', '.join(suite.frameworks)}"
        )
    try:
        return tuple(suite.models(framework, folder))
    except ImportError as error:
        raise UnsupportedError(lacking(name, suite, error)) from error


def lacking(name: str, suite: Suite, error: ImportError) -> str:
    """Returns why a suite cannot be used, and what to install."""
    advice = f"; install it with: pip install {suite.requirement}" if suite.requirement else ""
    return f"suite {name} is not usable here: {error}{advice}"
