"""Installs environments, as locked where there is a lock file, and writes such files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from opperf.model import Interpreter
from opperf.requests.declaring import Say

if TYPE_CHECKING:
    from opperf.comparison.ab.arms import ArmSpec
    from opperf.environments.locks import Locked
    from opperf.environments.specification import EnvironmentSpec, Installed

# Help and completion do without the imports of what installs.


def read_locked(path: Path | None) -> Locked | None:
    """Returns the lock file of `--locked`. Raises `UsageError` for another file."""
    from opperf.environments.locks import Locked, read_lock

    return None if path is None else Locked(path, read_lock(path))


def install(spec: EnvironmentSpec, locked: Locked | None, say: Say) -> Installed:
    """Returns the environment, which is installed unless it is there. Raises `InstallationError`,
    and `UsageError` if the lock file has none of its requirements."""
    from opperf.environments.building import build_environment

    return build_environment(spec, say, () if locked is None else locked.packages(spec))


def install_arm(arm: ArmSpec, locked: Locked | None, say: Say) -> ArmSpec:
    """Returns an arm of `ab` with its environment, if it has one of its own, installed. Raises as
    `install` does."""
    if not arm.requirements:
        return arm
    from opperf.environments.specification import read_requirements

    built = install(read_requirements(",".join(arm.requirements)), locked, say)
    return msgspec.structs.replace(arm, python=str(built.python), packages=built.packages)


def write_lock(results: Path, interpreters: Iterable[Interpreter]) -> Path | None:
    """Writes the lock file beside results, and returns its path; None where opperf installed no
    environment, or the results are printed. Raises `OutputError`."""
    from opperf.environments.locks import lock_path, lock_text
    from opperf.results.output import STDOUT, replace

    text = lock_text(interpreters)
    if not text or results == STDOUT:
        return None
    path = lock_path(results)
    replace(path, text)
    return path
