"""The folders of opperf's cache and data."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = "OPPERF_CACHE"
"""Environment variable with the path of the cache folder, on every system."""

DATA = "OPPERF_DATA"
"""Environment variable with the path of the data folder, on every system."""


def cache_folder() -> Path:
    """Returns the cache folder: that in `OPPERF_CACHE`, else a folder where the system keeps caches
    (`XDG_CACHE_HOME` or `~/.cache` on Linux)."""
    named = _named(FOLDER)
    if named is not None:
        return named
    # Takes some 10 ms to import, and not every command uses the cache.
    from platformdirs import user_cache_path

    return user_cache_path("opperf", appauthor=False)


def data_folder() -> Path:
    """Returns the data folder, which has the run files that opperf keeps: that in `OPPERF_DATA`,
    else a folder where the system keeps users' data (`XDG_DATA_HOME` or `~/.local/share` on
    Linux)."""
    named = _named(DATA)
    if named is not None:
        return named
    from platformdirs import user_data_path

    return user_data_path("opperf", appauthor=False)


def unfinished_folder() -> Path:
    """Returns the folder of the run files of runs that write another format, until they are
    finished."""
    return cache_folder() / "unfinished"


def _named(variable: str) -> Path | None:
    """Returns the folder that an environment variable names; None if it is empty or not set."""
    path = os.environ.get(variable)
    # Not `Path.expanduser`, which raises for an unknown user.
    return Path(os.path.expanduser(path)) if path else None  # noqa: PTH111
