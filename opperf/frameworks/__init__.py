"""The frameworks opperf can measure, found through the entry-point group `opperf.frameworks`."""

from __future__ import annotations

import functools
import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from types import ModuleType

from opperf.errors import FrameworkError, UsageError, suggestion
from opperf.frameworks.base import Framework, Gradient, MemoryReading, Tracer

__all__ = ["Framework", "Gradient", "MemoryReading", "Tracer", "available", "identity", "load"]

GROUP = "opperf.frameworks"

BUILT_IN = {
    "mxnet": "opperf.frameworks.mxnet:framework",
    "numpy": "opperf.frameworks.numpy:framework",
}
"""Known without an installed distribution, so that a plain checkout works."""


def available() -> dict[str, str]:
    """Name to `module:attribute` of every framework, built in or added by another package."""
    return BUILT_IN | {entry.name: entry.value for entry in entry_points(group=GROUP)}


def _attribute(name: str) -> tuple[ModuleType, str]:
    """The module of a framework, light to import, and the name of its factory there.

    Raises `UsageError` for an unknown name.
    """
    known = available()
    if name not in known:
        raise UsageError(
            f"unknown framework {name!r}{suggestion(name, known)}; "
            f"known: {', '.join(sorted(known))}"
        )
    module, _, attribute = known[name].partition(":")
    return importlib.import_module(module), attribute


def _missing(name: str, error: ImportError) -> FrameworkError:
    return FrameworkError(
        f"{name} cannot be imported ({error}); install it with: pip install {name}"
    )


def identity(name: str) -> str | None:
    """What tells the installed build of a framework from another, found without importing it;
    None where the framework's module has no `identity`.

    Raises `UsageError` for an unknown name and `FrameworkError` when it is not installed.
    """
    try:
        found = getattr(_attribute(name)[0], "identity", None)
        return None if found is None else str(found())
    except ImportError as error:
        raise _missing(name, error) from error


@functools.cache
def load(name: str) -> Framework:
    """The framework of that name, imported.

    Raises `UsageError` for an unknown name and `FrameworkError` when it cannot be imported.
    """
    try:
        module, attribute = _attribute(name)
        with _no_collections():
            framework: Framework = getattr(module, attribute)()
    except ImportError as error:
        raise _missing(name, error) from error
    return framework


@contextmanager
def _no_collections() -> Iterator[None]:
    """Leave garbage be: an import makes some hundred thousand objects that stay, and looking
    through them again and again takes a tenth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
