"""The interpreter that an environment is made of: opperf's own, one of this machine, or one that uv
downloads."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from opperf.environments.builders import uv_reason
from opperf.errors import InstallationError
from opperf.processes.commands import find_program, run_command


def own_version() -> str:
    """Returns the version of Python that runs opperf."""
    return platform.python_version()


def find_python(asked: str, downloader: Sequence[str] = ()) -> str:
    """Returns the path of the interpreter that is asked for by version, `3.12` or `3.12.4`, or by
    path; of nothing, opperf's own. `downloader` begins the commands of uv that install and find
    one. Raises `InstallationError` if there is none."""
    if not asked or is_version_of(asked, own_version()):
        return sys.executable
    if os.sep in asked or not asked[0].isdigit():
        found = find_program(asked)
        if found is None:
            raise InstallationError(f"Python {asked}: no such program")
        return found
    minor = ".".join(asked.split(".")[:2])
    here = shutil.which(f"python{minor}")
    if here is not None and is_version_of(asked, version_of(here)):
        return here
    if not downloader:
        raise InstallationError(
            f"Python {asked} is not on this machine; install it, or uv, which downloads it: "
            "pip install uv"
        )
    # What is there is found, and not downloaded.
    for word in ("install", "find"):
        done = run_command([*downloader, word, asked])
        if done.problem:
            reason = uv_reason(done.errors) if done.started else done.problem
            raise InstallationError(f"Python {asked} is not on this machine: uv: {reason}")
    return done.output.strip()


def is_version_of(asked: str, version: str) -> bool:
    """Returns whether a version is the one asked for, `3.12` or `3.12.4`."""
    return version == asked or version.startswith(f"{asked}.")


def version_of(python: str | Path) -> str:
    """Returns the version of an interpreter; empty if it does not run."""
    code = "import platform; print(platform.python_version())"
    # Isolated: neither the user's variables nor the working directory count.
    return run_command([str(python), "-I", "-c", code]).output.strip()
