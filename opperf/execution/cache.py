"""Cached values: those that depend only on a framework's build and opperf's rules."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

import opperf
from opperf.decoding import read_as
from opperf.errors import OutputError, one_line
from opperf.folders import FOLDER, cache_folder
from opperf.frameworks import identity
from opperf.model import Listing
from opperf.results.output import replace

Kept = TypeVar("Kept")


def cache_file(kind: str, framework: str) -> Path | None:
    """Returns the file for a kind of value of the framework's build; None if that is unknown."""
    build = identity(framework)
    return None if build is None else cache_folder() / kind / f"{framework}-{_key(build)}.json"


def load(path: Path | None, kind: type[Kept]) -> tuple[Kept | None, list[str]]:
    """Returns the value in a file of the cache, or None, and warnings about an unreadable file."""
    if path is None:
        return None, []
    try:
        return read_as(path, kind), []
    except (FileNotFoundError, NotADirectoryError):
        # The first time for this build, or a folder that `store` warns about.
        return None, []
    except (OSError, msgspec.DecodeError) as error:
        return None, [f"{path} cannot be read and is made again: {one_line(str(error))}"]


def store(path: Path | None, value: object, what: str) -> list[str]:
    """Writes a value to the cache; returns warnings, which name it `what`, if that fails."""
    if path is None:
        return []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, msgspec.json.encode(value))
    except (OSError, OutputError) as error:
        return [f"{what} is not cached: {one_line(str(error))}; name another folder in {FOLDER}"]
    return []


def _key(build: str) -> str:
    """Returns a hash of the framework's build and of opperf's version and source."""
    package = Path(opperf.__file__).parent
    newest = max(
        entry.stat().st_mtime_ns
        for folder, _, _ in os.walk(package)
        for entry in os.scandir(folder)
        if entry.name.endswith(".py")
    )
    text = f"{build}; {package} {opperf.__version__} {newest}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_listing(name: str, ask: Callable[[], Listing]) -> tuple[Listing, list[str]]:
    """Returns a framework's listing, from the cache or `ask`, and warnings about the cache."""
    path = cache_file("registry", name)
    listing, warnings = load(path, Listing)
    if listing is None:
        listing = ask()
        warnings += store(path, listing, "the list of operators")
    return listing, warnings
