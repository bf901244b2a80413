"""The environment of programs: this machine, and the versions of the interpreter that runs them."""

from __future__ import annotations

import functools
import json
import sys

import msgspec

from opperf.errors import WorkerError, one_line
from opperf.machine.environment import environment
from opperf.machine.gpu_use import VISIBLE_DEVICES
from opperf.model import PROGRAM, Environment
from opperf.processes.commands import run_command
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
    done = run_command([python, str(LAUNCHER), "--versions"], timeout_s=TIMEOUT_S)
    try:
        versions: dict[str, str] = {} if done.problem else json.loads(done.output)
    except ValueError as error:
        done = done._replace(problem=f"printed no versions: {error}")
    if done.problem:
        said = one_line(done.errors or f"it {done.problem}")
        raise WorkerError(
            f"{python} cannot run programs: {said}; check that it is a Python interpreter"
        )
    return versions


def program_environment(python: str = "") -> Environment:
    """Returns the environment of programs that an interpreter runs, opperf's own if it is empty.
    Raises `WorkerError` if it cannot be run."""
    versions = read_versions(python or sys.executable)
    found = environment(ProgramFacts(versions))
    return msgspec.structs.replace(found, python=versions["python"])
