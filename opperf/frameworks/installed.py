"""What tells one installed build of a package from another, without importing it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path


def package_identity(package: str, files: Iterable[str] = ("__init__.py",)) -> str:
    """Where a package lies, and size and time of those of its files that a build changes.

    `files` are glob patterns below the package's folder. Raises `ImportError` when the package
    is not installed.
    """
    # Of the finders only that of files and folders: others may act on the package's name.
    spec = PathFinder.find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"No module named {package!r}", name=package)
    folder = Path(spec.origin).parent
    found = sorted(path for pattern in files for path in folder.glob(pattern))
    marks = [f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in found]
    return "; ".join([str(folder), *marks])
