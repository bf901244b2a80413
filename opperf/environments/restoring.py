"""Environments of an earlier run, or of another machine's, installed here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from opperf.environments.building import Say, build_environment
from opperf.environments.requirements import read_requirements
from opperf.errors import InstallationError
from opperf.model import Interpreter


def restore(interpreters: Iterable[Interpreter], say: Say) -> tuple[Interpreter, ...]:
    """Returns the interpreters, of which an environment that opperf installed, and that is not here
    now, is installed again with the same versions. Raises `InstallationError`."""
    return tuple(_restored(interpreter, say) for interpreter in interpreters)


def _restored(interpreter: Interpreter, say: Say) -> Interpreter:
    if not interpreter.requirements or Path(interpreter.path).exists():
        return interpreter
    try:
        spec = read_requirements(interpreter.requirements)
    except ValueError as error:
        raise InstallationError(
            f"{interpreter.path}, an environment of {interpreter.requirements}, is not here; "
            "install the environments of its suite again: opperf suite install FILE.yaml"
        ) from error
    built = build_environment(spec, say, interpreter.packages)
    return msgspec.structs.replace(interpreter, path=str(built.python))
