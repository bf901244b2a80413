"""The folders of opperf's cache and data."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = "OPPERF_CACHE"
"""Environment variable with the path of the cache folder, on every system."""

DATA = "OPPERF_DATA"
"""Environment variable with the path of the data folder, on every system."""


def cache_folder() -> Path:
    """Returns the cache folder: that in `OPPERF_CACHE`, else one where the system keeps caches."""
    return _folder(FOLDER, "user_cache_path")


def data_folder() -> Path:
    """Returns the folder of kept run files: that in `OPPERF_DATA`, else the system's for data."""
    return _folder(DATA, "user_data_path")


def unfinished_folder() -> Path:
    """Returns the folder of unfinished runs that write another format."""
    return cache_folder() / "unfinished"


def _folder(variable: str, usual: str) -> Path:
    path = os.environ.get(variable)
    if path:
        # Not `Path.expanduser`, which raises for an unknown user.
        return Path(os.path.expanduser(path))  # noqa: PTH111
    # Takes some 10 ms to import, and not every command uses a folder.
    import platformdirs

    found: Path = getattr(platformdirs, usual)("opperf", appauthor=False)
    return found
