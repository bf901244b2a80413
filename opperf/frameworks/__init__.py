"""The frameworks opperf can measure, found through the entry-point group `opperf.frameworks`."""

from __future__ import annotations

import functools
import gc
import importlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from types import ModuleType

from opperf.errors import FrameworkError, OpperfError, one_line, unknown
from opperf.frameworks.base import Framework, Gradient, MemoryReading
from opperf.frameworks.installed import (
    Package,
    is_installed,
    package_identity,
    package_version,
)

__all__ = [
    "Framework",
    "Gradient",
    "MemoryReading",
    "Package",
    "available",
    "identity",
    "is_there",
    "load",
    "package_of",
    "preferred",
    "variables_of",
]

GROUP = "opperf.frameworks"

BUILT_IN = {
    "mxnet": "opperf.frameworks.mxnet:framework",
    "numpy": "opperf.frameworks.numpy:framework",
}
"""Known without an installed distribution, so that a plain checkout works."""

PREFERENCE = ("mxnet", "torch", "jax", "numpy")
"""Frameworks in the order in which they are meant where none is named. NumPy is last: it is there
wherever opperf is, and who has another one is interested in that."""


def available() -> dict[str, str]:
    """Name to `module:attribute` of every framework, built in or added by another package."""
    return BUILT_IN | {entry.name: entry.value for entry in entry_points(group=GROUP)}


def _attribute(name: str) -> tuple[ModuleType, str]:
    """The module of a framework, light to import, and the name of its factory there.

    Raises `UsageError` for an unknown name.
    """
    known = available()
    if name not in known:
        raise unknown("framework", name, sorted(known))
    module, _, attribute = known[name].partition(":")
    return importlib.import_module(module), attribute


def package_of(name: str) -> Package | None:
    """The package that a framework is, found without importing it; None where the framework's
    module says nothing of it.

    Raises `UsageError` for an unknown name and `FrameworkError` where the module, which is another
    package's, cannot be imported.
    """
    try:
        return getattr(_attribute(name)[0], "PACKAGE", None)
    except ImportError as error:
        raise FrameworkError(f"{name} cannot be imported: {error}") from error


def is_there(name: str) -> bool:
    """Whether a framework is known and installed, found without importing it. One whose module
    says nothing of its package is taken to be there with its module."""
    if name not in available():
        return False
    try:
        package = package_of(name)
    except FrameworkError:
        return False
    return package is None or is_installed(package.name)


def preferred(elsewhere: Collection[str] = ()) -> str:
    """The framework that is meant where none is named: the first of `PREFERENCE` that is there, or
    is known and in another interpreter, as those `elsewhere` are.

    Raises `FrameworkError` where none is.
    """
    for name in PREFERENCE:
        if is_there(name) or (name in elsewhere and name in available()):
            return name
    raise FrameworkError(
        f"none of {', '.join(PREFERENCE)} is installed; install one with: pip install numpy"
    )


def identity(name: str) -> str | None:
    """What tells the installed build of a framework from another, found without importing it;
    None where the framework's module says nothing of its package.

    Raises `UsageError` for an unknown name and `FrameworkError` when it is not installed.
    """
    package = package_of(name)
    if package is None:
        return None
    _check_installed(name, package)
    return package_identity(package.name, package.build_files)


def _check_installed(name: str, package: Package) -> None:
    """Raises `FrameworkError` with the command for a package that is not installed."""
    if not is_installed(package.name):
        raise FrameworkError(
            f"{name} is not installed; install it with: {package.install_advice()}"
        )


@functools.cache
def load(name: str) -> Framework:
    """The framework of that name, imported.

    Raises `UsageError` for an unknown name and `FrameworkError` when it is not installed or
    cannot be imported, with the reason.
    """
    package = package_of(name)
    if package is not None:
        _check_installed(name, package)
    module, attribute = _attribute(name)
    try:
        with _no_collections():
            framework: Framework = getattr(module, attribute)()
    except OpperfError:
        raise
    except Exception as error:
        # Not only what is missing: a library that was built for another one fails as it likes.
        shown = name if package is None else f"{name} {package_version(package.name)}"
        raise FrameworkError(f"{shown} cannot be imported: {_cause(error)}") from error
    return framework


def variables_of(name: str) -> tuple[str, ...]:
    """Environment variables of a framework's own that decide how it computes. It is imported only
    where its module says nothing of its package.

    Raises `UsageError` for an unknown name and `FrameworkError` when it is not installed.
    """
    package = package_of(name)
    if package is None:
        return load(name).variables
    _check_installed(name, package)
    return package.variables


def _cause(error: Exception) -> str:
    """An error's message on one line; of what kind it is, where that is not an import's."""
    return one_line(
        str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
    )


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
