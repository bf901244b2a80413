"""Environments as they are asked for, and as they were installed.

Requirements as users write them, `torch==2.12,numpy<2,-r FILE`, read into the environment that
they ask for. `python==3.12` among them is the version of Python.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from opperf.model import Interpreter, Struct


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
    """Returns the environment that `NAME==VERSION,...` asks for. Raises `ValueError` for what is no
    requirement."""
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
