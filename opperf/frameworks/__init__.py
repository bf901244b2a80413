"""The frameworks opperf can measure, found through the entry-point group `opperf.frameworks`."""

from __future__ import annotations

import functools
import importlib
from importlib.metadata import entry_points

from opperf.errors import FrameworkError, UsageError, suggestion
from opperf.frameworks.base import Framework, Gradient, MemoryReading, Tracer

__all__ = ["Framework", "Gradient", "MemoryReading", "Tracer", "available", "load"]

GROUP = "opperf.frameworks"

BUILT_IN = {"mxnet": "opperf.frameworks.mxnet:framework"}
"""Known without an installed distribution, so that a plain checkout works."""


def available() -> dict[str, str]:
    """Name to `module:attribute` of every framework, built in or added by another package."""
    return BUILT_IN | {entry.name: entry.value for entry in entry_points(group=GROUP)}


@functools.cache
def load(name: str) -> Framework:
    """The framework of that name, imported.

    Raises `UsageError` for an unknown name and `FrameworkError` when it cannot be imported.
    """
    known = available()
    if name not in known:
        raise UsageError(
            f"unknown framework {name!r}{suggestion(name, known)}; "
            f"known: {', '.join(sorted(known))}"
        )
    module, _, attribute = known[name].partition(":")
    try:
        factory = getattr(importlib.import_module(module), attribute)
        framework: Framework = factory()
    except ImportError as error:
        raise FrameworkError(
            f"{name} cannot be imported ({error}); install it with: pip install {name}"
        ) from error
    return framework
