"""The folder of opperf's cache."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = "OPPERF_CACHE"
"""Environment variable with the path of the cache folder, on every system."""


def cache_folder() -> Path:
    """Returns the cache folder: that in `OPPERF_CACHE`, else a folder where the system keeps caches
    (`XDG_CACHE_HOME` or `~/.cache` on Linux)."""
    named = os.environ.get(FOLDER)
    if named:
        # Not `Path.expanduser`, which raises for an unknown user.
        return Path(os.path.expanduser(named))  # noqa: PTH111
    # Takes some 10 ms to import, and not every command uses the cache.
    from platformdirs import user_cache_path

    return user_cache_path("opperf", appauthor=False)
