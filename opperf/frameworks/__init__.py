"""The frameworks opperf can measure, found through the entry-point group `opperf.frameworks`."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

from opperf.declared import declared
from opperf.errors import FrameworkError, OpperfError, one_line, unknown
from opperf.frameworks.base import Gradient, MemoryReading
from opperf.frameworks.capabilities import Framework
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
    "is_available",
    "load",
    "objects_of",
    "package_of",
    "default_framework",
    "variables_of",
]

GROUP = "opperf.frameworks"

BUILT_IN = {
    "mxnet": "opperf.frameworks.mxnet:framework",
    "numpy": "opperf.frameworks.numpy:framework",
    "torch": "opperf.frameworks.torch:framework",
    "jax": "opperf.frameworks.jax:framework",
}
"""Known without an installed distribution, so that a plain checkout works."""

PREFERENCE = ("mxnet", "torch", "jax", "numpy")
"""Frameworks in the order in which the default is chosen. NumPy is last: it is installed wherever
opperf is, and a user who has installed another one wants that."""


def available() -> dict[str, str]:
    """Returns `module:attribute` of every framework by name, built in or of another package."""
    return BUILT_IN | _of_packages(tuple(sys.path))


@functools.cache
def _of_packages(path: tuple[str, ...]) -> dict[str, str]:
    """Returns the frameworks of packages that are installed on the path. Each case asks."""
    return {entry.name: entry.value for entry in declared(GROUP)}


def _attribute(name: str) -> tuple[ModuleType, str]:
    """Returns the module of a framework, light to import, and the name of its factory there.

    Raises `UsageError` for an unknown name.
    """
    known = available()
    if name not in known:
        raise unknown("framework", name, sorted(known))
    module, _, attribute = known[name].partition(":")
    return importlib.import_module(module), attribute


def package_of(name: str) -> Package | None:
    """Returns the declared package of a framework without importing it; None if the framework's
    module declares none.

    Raises `UsageError` for an unknown name and `FrameworkError` if the module, which another
    package provides, cannot be imported.
    """
    try:
        return getattr(_attribute(name)[0], "PACKAGE", None)
    except ImportError as error:
        raise FrameworkError(f"{name} cannot be imported: {error}") from error


def objects_of(name: str) -> Mapping[str, str]:
    """Returns the classes that a framework has for operators of other packages, by the operator's
    name: the place of each, as `module:name`.

    Raises the errors of `package_of`.
    """
    package = package_of(name)
    return package.objects if package is not None else {}


def is_available(name: str) -> bool:
    """Whether a framework is known and installed; it is not imported. One whose module declares
    no package counts as installed."""
    if name not in available():
        return False
    try:
        package = package_of(name)
    except FrameworkError:
        return False
    return package is None or is_installed(package.name)


def default_framework(elsewhere: Collection[str] = ()) -> str:
    """Returns the name of the default framework: the first of `PREFERENCE` that is available here,
    or that is known and is one of `elsewhere`, the frameworks of other interpreters.

    Raises `FrameworkError` if there is none.
    """
    for name in PREFERENCE:
        if is_available(name) or (name in elsewhere and name in available()):
            return name
    raise FrameworkError(
        f"none of {', '.join(PREFERENCE)} is installed; install one with: pip install numpy"
    )


def identity(name: str) -> str | None:
    """Returns a text that differs between builds of a framework, without importing it; None if the
    framework's module declares no package.

    Raises `UsageError` for an unknown name and `FrameworkError` if it is not installed.
    """
    package = package_of(name)
    if package is None:
        return None
    _check_installed(name, package)
    return package_identity(package.name, package.build_files)


def _check_installed(name: str, package: Package) -> None:
    """Raises `FrameworkError`, with the command to install it, if a package is not installed."""
    if not is_installed(package.name):
        raise FrameworkError(
            f"{name} is not installed; install it with: {package.install_advice()}"
        )


@functools.cache
def load(name: str) -> Framework:
    """Imports and returns the framework of that name.

    Raises `UsageError` for an unknown name and `FrameworkError`, with the reason, if it is not
    installed or cannot be imported.
    """
    package = package_of(name)
    if package is not None:
        _check_installed(name, package)
    module, attribute = _attribute(name)
    try:
        with _pause_garbage_collection():
            framework: Framework = getattr(module, attribute)()
    except OpperfError:
        raise
    except Exception as error:
        # Not `ImportError` alone: a library built for another version may raise anything.
        shown = name if package is None else f"{name} {package_version(package.name)}"
        raise FrameworkError(f"{shown} cannot be imported: {_cause(error)}") from error
    return framework


def variables_of(name: str) -> tuple[str, ...]:
    """Returns the environment variables that decide how a framework computes, beside those of
    OpenMP and BLAS. It is imported only if its module declares no package.

    Raises `UsageError` for an unknown name and `FrameworkError` if it is not installed.
    """
    package = package_of(name)
    if package is None:
        return load(name).variables
    _check_installed(name, package)
    return package.variables


def _cause(error: Exception) -> str:
    """Returns an error's message as one line, with its type unless it is an `ImportError`."""
    return one_line(
        str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
    )


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Suspends garbage collection: an import makes about a hundred thousand objects that stay, and
    scanning them again and again takes a tenth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
