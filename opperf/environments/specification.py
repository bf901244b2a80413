"""Environments as they are asked for, and as they were installed."""

from __future__ import annotations

import os
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
