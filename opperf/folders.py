"""The folders of opperf's cache and data, and those of what is being written."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


PART = ".opperf-part-"
"""Beginning of the names of folders of what is being written."""


@contextmanager
def part_folder(folder: Path) -> Iterator[Path]:
    """Yields a new folder in another one, from which what is whole is moved to its place. Those of
    processes that were killed are removed. Raises `OSError`."""
    remove_parts(folder)
    while True:
        made = Path(tempfile.mkdtemp(prefix=PART, dir=folder))
        lock = os.open(made, os.O_RDONLY)
        # Network disks may lock no folder: no process removes one of another's there.
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another process may have taken it for abandoned before it was locked.
        if made.exists():
            break
        os.close(lock)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def remove_parts(folder: Path) -> None:
    """Removes what processes that were killed have left of `part_folder` in a folder."""
    for path in folder.glob(f"{PART}*"):
        # A lock is released at the end of its process.
        with suppress(OSError):
            lock = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path)
            finally:
                os.close(lock)


def _folder(variable: str, usual: str) -> Path:
    path = os.environ.get(variable)
    if path:
        # Not `Path.expanduser`, which raises for an unknown user.
        return Path(os.path.expanduser(path))  # noqa: PTH111
    # Takes some 10 ms to import, and not every command uses a folder.
    import platformdirs

    found: Path = getattr(platformdirs, usual)("opperf", appauthor=False)
    return found
