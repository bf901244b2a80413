"""Lock files: the environments of a run with every version, from which they are installed again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from opperf.decoding import read_as
from opperf.environments.specification import EnvironmentSpec, read_requirements
from opperf.errors import UsageError
from opperf.model import Interpreter, Struct
from opperf.plurals import pluralize

SCHEMA = 1
"""Version of the file; raised when readers of old ones would misread new ones."""


class LockedEnvironment(Struct, frozen=True):
    """An environment of a lock file."""

    requirements: str
    """Those that were asked for, as `--with` takes them."""
    packages: tuple[str, ...]
    """Every package with its version, as `pip freeze` prints them."""


class Lock(Struct, frozen=True):
    """The content of a lock file."""

    schema: int
    environments: tuple[LockedEnvironment, ...]


def lock_path(results: Path) -> Path:
    """Returns the path of the lock file beside results."""
    return results.with_name(f"{results.stem}.lock.json")


def lock_text(interpreters: Iterable[Interpreter]) -> bytes:
    """Returns the content of the lock file of those interpreters that are of environments which
    opperf installed; empty without one."""
    locked = {
        python.requirements: LockedEnvironment(python.requirements, python.packages)
        for python in interpreters
        if python.requirements
    }
    if not locked:
        return b""
    lock = Lock(SCHEMA, tuple(locked.values()))
    return msgspec.json.format(msgspec.json.encode(lock)) + b"\n"


def read_lock(path: Path) -> Lock:
    """Returns the content of a lock file. Raises `UsageError` for another file."""
    try:
        lock = read_as(path, Lock)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path} is no lock file, as opperf writes it beside results: {error}"
        ) from error
    if lock.schema != SCHEMA:
        raise UsageError(f"{path} is of version {lock.schema}; this opperf reads {SCHEMA}")
    return lock


class Locked(NamedTuple):
    """A lock file that environments are installed from."""

    path: Path
    lock: Lock

    def packages(self, spec: EnvironmentSpec) -> tuple[str, ...]:
        """Returns the packages of an environment. Raises `UsageError` if the file has none of its
        requirements."""
        environments = self.lock.environments
        for environment in environments:
            if _same(environment.requirements, spec):
                return environment.packages
        has = "; ".join(environment.requirements for environment in environments) or "none"
        raise UsageError(
            f"{self.path} has no environment of {spec.text}; it has "
            f"{pluralize(len(environments), 'environment')}: {has}"
        )


def _same(requirements: str, spec: EnvironmentSpec) -> bool:
    """Returns whether the same is asked for, in any order."""
    return requirements == spec.text or _key(requirements) == _key(spec.text)


def _key(text: str) -> Sequence[str]:
    try:
        spec = read_requirements(text)
    except ValueError:
        # Of a bench, whose requirements may be more than names and versions.
        return [text]
    return [spec.python, *sorted(map(_portable, spec.requirements))]


def _portable(requirement: str) -> str:
    """Returns a requirement, of a file its name and folder: elsewhere it has another path."""
    option, _, path = requirement.partition(" ")
    return f"{option} {'/'.join(Path(path).parts[-2:])}" if option == "-r" else requirement
