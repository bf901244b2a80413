"""Environments as they are asked for, and as they were installed.

Requirements as users write them, `torch==2.12,numpy<2,-r FILE`, read into the environment that
they ask for. `python==3.12` among them is the version of Python. A lock file has the
environments of a run with every version, from which they are installed again.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from opperf.decoding import read_as
from opperf.errors import UsageError
from opperf.model import Interpreter, Struct
from opperf.plurals import pluralize


class EnvironmentSpec(Struct, frozen=True):
    """The environment that a bench asks for; empty for opperf's own."""

    name: str = ""
    """`install_group`, which benches share."""
    requirements: tuple[str, ...] = ()
    """Each as pip takes it in a file of requirements: `torch==2.12`, `-r /path/to/file`."""
    python: str = ""
    """Version, `3.11`, or path; empty for that of opperf."""
    index_urls: tuple[str, ...] = ()
    """Extra indexes."""
    variables: dict[str, str] = {}
    """Of the installation and of the processes."""

    @property
    def is_own(self) -> bool:
        """Whether it is opperf's own environment."""
        return not (self.requirements or self.python)

    @property
    def text(self) -> str:
        """Python and the requirements, as `--with` of `opperf run` takes them."""
        python = (f"python=={self.python}",) if self.python else ()
        return ",".join((*python, *self.requirements))


class Installed(Struct, frozen=True):
    """An environment that is installed on this machine."""

    folder: str
    spec: EnvironmentSpec
    packages: tuple[str, ...]
    """Every package with its version, as `pip freeze` prints them."""
    python_version: str
    platform: str
    builder: str
    """That which installed it: `uv` or `pip`."""

    @property
    def python(self) -> Path:
        """The path of its interpreter."""
        return Path(self.folder, "bin", "python")

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of a process in it, as an activated shell has them."""
        path = os.pathsep.join(filter(None, (f"{self.folder}/bin", os.environ.get("PATH", ""))))
        return {"VIRTUAL_ENV": self.folder, "PATH": path, **self.spec.variables}

    def interpreter(self, label: str = "") -> Interpreter:
        """Returns the interpreter that runs workers in it."""
        return Interpreter(
            str(self.python), label, requirements=self.spec.text, packages=self.packages
        )


VERSIONED = re.compile(r"[A-Za-z0-9][\w.-]*\s*(\[[^\]]*\]\s*)?(===?|~=|!=|<=?|>=?|@)")
"""A name and the beginning of what is asked of it; no variable `NAME=VALUE` begins so."""

BETWEEN = re.compile(r",(?![^\[\]]*\])\s*(?=[A-Za-z0-9]|-r\s)")
"""The comma between two requirements: not one within `[extra,extra]` or `>=1,<2`."""

PYTHON = "python"

OF_FILE = re.compile(r"-r\s+(\S.*)")
"""A file of requirements."""


def is_requirement(text: str) -> bool:
    """Returns whether a text is a requirement with a version or a URL, and no variable."""
    return VERSIONED.match(text) is not None


def read_requirements(text: str) -> EnvironmentSpec:
    """Returns the environment that `NAME==VERSION,...` asks for. Raises `ValueError`."""
    # Takes 20 ms, and few commands have an environment.
    from packaging.requirements import InvalidRequirement, Requirement

    found: list[str] = []
    python = ""
    for part in BETWEEN.split(text.strip()):
        file = OF_FILE.fullmatch(part)
        if file is not None:
            # It is installed in another folder.
            found.append(f"-r {Path(file[1]).absolute()}")
            continue
        try:
            requirement = Requirement(part)
        except InvalidRequirement as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f"{part!r} is no requirement: {reason}; write it as torch==2.12, or several as "
                "torch==2.12,numpy<2"
            ) from error
        if requirement.name == PYTHON:
            python = _python_version(part, str(requirement.specifier), python)
        else:
            found.append(str(requirement))
    if not (found or python):
        raise ValueError("no requirement; write it as torch==2.12")
    return EnvironmentSpec(requirements=tuple(dict.fromkeys(found)), python=python)


def _python_version(part: str, specifier: str, before: str) -> str:
    match = re.fullmatch(r"==(\d+\.\d+(\.\d+)?)", specifier)
    if match is None:
        raise ValueError(f"{part!r}: write the version of Python as python==3.12")
    if before not in ("", match[1]):
        raise ValueError(f"Python {before} and {match[1]} are two versions; name one")
    return match[1]


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
    locked = {python.requirements: python.packages for python in interpreters}
    locked.pop("", None)
    if not locked:
        return b""
    lock = Lock(SCHEMA, tuple(itertools.starmap(LockedEnvironment, locked.items())))
    return msgspec.json.format(msgspec.json.encode(lock)) + b"\n"


class Locked(NamedTuple):
    """A lock file that environments are installed from."""

    path: Path
    environments: Mapping[str, tuple[str, ...]]
    """Packages by requirements."""

    def packages(self, spec: EnvironmentSpec) -> tuple[str, ...]:
        """Returns the packages of an environment. Raises `UsageError` if it has none."""
        for requirements, packages in self.environments.items():
            if _same(requirements, spec):
                return packages
        raise UsageError(
            f"{self.path} has no environment of {spec.text}; it has "
            f"{pluralize(len(self.environments), 'environment')}: "
            f"{'; '.join(self.environments) or 'none'}"
        )


def read_lock(path: Path) -> Locked:
    """Returns what a lock file has. Raises `UsageError` for another file."""
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
    return Locked(path, {own.requirements: own.packages for own in lock.environments})


def _same(requirements: str, spec: EnvironmentSpec) -> bool:
    return requirements == spec.text or _key(requirements) == _key(spec.text)


def _key(text: str) -> Sequence[str]:
    try:
        spec = read_requirements(text)
    except ValueError:
        # Of a bench, whose requirements may be more than names and versions.
        return [text]
    return [spec.python, *sorted(map(_portable, spec.requirements))]


def _portable(requirement: str) -> str:
    """Of a file its name and folder: elsewhere it has another path."""
    option, _, path = requirement.partition(" ")
    return f"{option} {'/'.join(Path(path).parts[-2:])}" if option == "-r" else requirement
