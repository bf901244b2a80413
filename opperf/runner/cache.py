"""What is kept in the user's cache folder: what a framework's build and opperf's own rules decide,
and nothing else does."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TypeVar

import msgspec

import opperf
from opperf.errors import OutputError, one_line
from opperf.frameworks import identity
from opperf.results.output import replace

Kept = TypeVar("Kept")


FOLDER = "OPPERF_CACHE"
"""Variable that names the folder, on every system."""


def cache_folder() -> Path:
    """Folder for what may be lost, but would be missed: the one in `OPPERF_CACHE`, else where the
    system keeps caches (`XDG_CACHE_HOME` or `~/.cache` on Linux)."""
    named = os.environ.get(FOLDER)
    if named:
        return Path(named)
    # Takes some 10 ms to import, and not every command keeps anything.
    from platformdirs import user_cache_path

    return user_cache_path("opperf", appauthor=False)


def cache_file(kind: str, framework: str) -> Path | None:
    """Where something of this kind is kept for the framework as it is installed; None where
    nothing tells one build of it from another."""
    build = identity(framework)
    return None if build is None else cache_folder() / kind / f"{framework}-{_key(build)}.json"


def kept(path: Path | None, kind: type[Kept]) -> tuple[Kept | None, list[str]]:
    """What is in a file of the cache, None if it is not there or cannot be read; and a warning in
    the second case."""
    if path is None:
        return None, []
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind), []
    except FileNotFoundError:
        # Asked for the first time, as is every build once.
        return None, []
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return None, [f"{path} cannot be read and is made again: {one_line(str(error))}"]


def keep(path: Path | None, value: object, what: str) -> list[str]:
    """Write something to the cache; a warning, which calls it `what`, if that cannot be."""
    if path is None:
        return []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, msgspec.json.encode(value))
    except (OSError, OutputError) as error:
        return [f"{what} is not kept: {one_line(str(error))}"]
    return []


def _key(build: str) -> str:
    """What is kept depends on: the framework's build, and opperf's own rules."""
    package = Path(opperf.__file__).parent
    newest = max(
        entry.stat().st_mtime_ns
        for folder, _, _ in os.walk(package)
        for entry in os.scandir(folder)
        if entry.name.endswith(".py")
    )
    text = f"{build}; {package} {opperf.__version__} {newest}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
