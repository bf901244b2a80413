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
from opperf.frameworks.capabilities import Framework as Framework
from opperf.frameworks.installed import Package as Package
from opperf.frameworks.installed import is_installed, package_identity, package_version

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


def module_of(name: str) -> ModuleType:
    """Returns the module of a framework's entry point, imported. Raises `UsageError` for an unknown
    name, and `FrameworkError` if it cannot be imported."""
    known = available()
    if name not in known:
        raise unknown("framework", name, sorted(known))
    try:
        return importlib.import_module(known[name].partition(":")[0])
    except ImportError as error:
        raise FrameworkError(f"{name} cannot be imported: {error}") from error


def package_of(name: str) -> Package | None:
    """Returns the declared package of a framework, if any, without importing it. Raises as
    `module_of`."""
    return getattr(module_of(name), "PACKAGE", None)


def objects_of(name: str) -> Mapping[str, str]:
    """Returns the classes for operators of other packages, by name. Raises as `package_of`."""
    package = package_of(name)
    return package.objects if package is not None else {}


def is_available(name: str) -> bool:
    """Whether a framework is known and installed, or declares no package; it is not imported."""
    if name not in available():
        return False
    try:
        package = package_of(name)
    except FrameworkError:
        return False
    return package is None or is_installed(package.name)


def default_framework(elsewhere: Collection[str] = ()) -> str:
    """Returns the first of `PREFERENCE` that is available here, or is one of `elsewhere`, the
    frameworks of other interpreters. Raises `FrameworkError` if there is none."""
    for name in PREFERENCE:
        if is_available(name) or (name in elsewhere and name in available()):
            return name
    raise FrameworkError(
        f"none of {', '.join(PREFERENCE)} is installed; install one with: pip install numpy"
    )


def identity(name: str) -> str | None:
    """Returns a text that differs between builds; None without a declared package. Raises
    `UsageError` for an unknown name, and `FrameworkError` if it is not installed."""
    package = package_of(name)
    if package is None:
        return None
    _check_installed(name, package)
    return package_identity(package.name, package.build_files)


def _check_installed(name: str, package: Package) -> None:
    if not is_installed(package.name):
        raise FrameworkError(
            f"{name} is not installed; install it with: {package.install_advice()}"
        )


@functools.cache
def load(name: str) -> Framework:
    """Imports and returns a framework. Raises `UsageError` for an unknown name, and
    `FrameworkError`, with the reason, if it is not installed or cannot be imported."""
    package = package_of(name)
    if package is not None:
        _check_installed(name, package)
    module, factory = module_of(name), available()[name].partition(":")[2]
    try:
        with pause_garbage_collection():
            framework: Framework = getattr(module, factory)()
    except OpperfError:
        raise
    except Exception as error:
        # Not `ImportError` alone: a library built for another version may raise anything.
        cause = one_line(
            str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        )
        shown = name if package is None else f"{name} {package_version(package.name)}"
        raise FrameworkError(f"{shown} cannot be imported: {cause}") from error
    if package is not None:
        framework.processes.variables = package.variables
    return framework


def variables_of(name: str) -> tuple[str, ...]:
    """Returns the environment variables that decide how a framework computes, beside those of
    OpenMP and BLAS, without importing it if it declares a package. Raises as `identity`."""
    package = package_of(name)
    if package is None:
        return load(name).processes.variables
    _check_installed(name, package)
    return package.variables


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Suspends garbage collection: an import, or a file of a million values, makes objects that
    stay, and scanning them again and again takes a tenth of the time, or half of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
