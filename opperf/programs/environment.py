"""The environment of programs: this machine, and the versions of the interpreter that runs them."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import msgspec

from opperf.errors import WorkerError, one_line
from opperf.machine.environment import environment
from opperf.machine.gpu_use import VISIBLE_DEVICES
from opperf.model import PROGRAM, Environment
from opperf.programs.launching import LAUNCHER

TIMEOUT_S = 60.0
"""Limit on the start of an interpreter: it may be on a cold network disk."""


class ProgramFacts:
    """The facts of programs, in place of a framework's."""

    name = PROGRAM
    variables: tuple[str, ...] = (VISIBLE_DEVICES,)

    def __init__(self, versions: dict[str, str]) -> None:
        self._versions = versions

    def versions(self) -> dict[str, str]:
        return self._versions

    def features(self) -> dict[str, bool]:
        return {}

    def devices(self) -> tuple[str, ...]:
        return ()

    def threads(self) -> int | None:
        return None

    def commit(self) -> str:
        return ""


@functools.cache
def read_versions(python: str) -> dict[str, str]:
    """Returns the versions of an interpreter and of its packages. Raises `WorkerError` if it cannot
    be run."""
    command = [python, str(LAUNCHER), "--versions"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
        versions: dict[str, str] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise WorkerError(
            f"{python} cannot run programs: {one_line(said)}; check that it is a Python interpreter"
        ) from error
    return versions


def program_environment(python: str = "") -> Environment:
    """Returns the environment of programs that an interpreter runs, opperf's own if it is empty.
    Raises `WorkerError` if it cannot be run."""
    versions = read_versions(python or sys.executable)
    found = environment(ProgramFacts(versions))
    return msgspec.structs.replace(found, python=versions["python"])
