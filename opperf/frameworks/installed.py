"""What is known of an installed package without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

UNKNOWN = "unknown"
"""Version of a package that lies on the path without having been installed, as a build's does."""


def no_obstacle() -> str:
    """Nothing keeps the package from being imported, as far as can be seen."""
    return ""


class Package(NamedTuple):
    """The package that a framework is, described in the module of its entry point."""

    name: str
    """As it is imported."""
    offers: str
    """What of it can be measured, in short."""
    requirement: str
    """What pip is asked for to install it."""
    build_files: tuple[str, ...] = ("__init__.py",)
    """Glob patterns, in its folder, of the files that another build has others of."""
    below_python: tuple[int, int] | None = None
    """The first version of Python that it cannot be installed for."""
    variables: tuple[str, ...] = ()
    """Environment variables of its own that decide how it computes."""
    obstacle: Callable[[], str] = no_obstacle
    """Says, where it is installed, what keeps it from being imported, and what to do about it."""

    def install_advice(self) -> str:
        """The command that installs it, and the Python for it where this one is too new."""
        command = f"pip install '{self.requirement}'"
        if self.below_python is None or sys.version_info < self.below_python:
            return command
        newest = ".".join(map(str, self.below_python))
        return f"{command}, with Python below {newest}"


def is_installed(package: str) -> bool:
    """Whether a package is there to be imported."""
    return _init_of(package) is not None


def package_version(package: str) -> str:
    """The version of an installed package, by the metadata of what installed it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        # What pip installs may be called otherwise than what is imported: mxnet-cu112.
        names = metadata.packages_distributions().get(package, [])
        return metadata.version(names[0]) if names else UNKNOWN


def package_identity(package: str, files: Iterable[str] = ("__init__.py",)) -> str:
    """Where a package lies, and size and time of those of its files that a build changes.

    `files` are glob patterns below the package's folder. Raises `ImportError` when the package
    is not installed.
    """
    init = _init_of(package)
    if init is None:
        raise ImportError(f"No module named {package!r}", name=package)
    folder = init.parent
    found = sorted(path for pattern in files for path in folder.glob(pattern))
    marks = [f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in found]
    return "; ".join([str(folder), *marks])


def _init_of(package: str) -> Path | None:
    """The file of a package that is imported first; None where there is none."""
    # Of the finders only those of files and folders: others may act on the package's name.
    finders: list[Any] = [PathFinder]
    finders += [
        finder for finder in sys.meta_path if getattr(finder, "finds_fallback_packages", False)
    ]
    for finder in finders:
        spec = finder.find_spec(package, None)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin)
    return None
