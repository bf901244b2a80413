"""The options `--with` and `--locked`: environments that are installed before anything is
measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from opperf.errors import UsageError
from opperf.model import Interpreter
from opperf.parameters import combine
from opperf.parsing import clicked
from opperf.requests.parsers import label_interpreters

if TYPE_CHECKING:
    from opperf.comparison.ab.arms import ArmSpec
    from opperf.environments.locks import Locked
    from opperf.environments.specification import EnvironmentSpec, Installed

Say = Callable[[str], None]

# Help and completion do without the imports of what installs.


def parse_requirements(values: tuple[str, ...]) -> tuple[EnvironmentSpec, ...]:
    """Parses `torch==2.12,numpy<2` into an environment, and several values into several."""
    from opperf.environments.requirements import read_requirements

    return tuple({spec.text: spec for spec in map(read_requirements, values)}.values())


locked_option = click.option(
    "--locked",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Install the exact versions of a lock file, which every run with environments writes "
    "beside its results (NAME.lock.json).",
)

environment_options = combine(
    click.option(
        "--with",
        "requirements",
        multiple=True,
        metavar="REQUIREMENTS",
        callback=clicked(parse_requirements),
        # The default framework may be the one that is required.
        is_eager=True,
        help="Run the workers in an environment of these requirements, which uv or pip installs "
        "first and opperf keeps: torch==2.12, or 'python==3.12,numpy<2'. Repeat it for several "
        "environments, each of which is measured.",
    ),
    locked_option,
)


def read_locked(path: Path | None) -> Locked | None:
    """Returns the lock file of `--locked`. Raises `UsageError` for another file."""
    from opperf.environments.locks import Locked, read_lock

    return None if path is None else Locked(path, read_lock(path))


def install(spec: EnvironmentSpec, locked: Locked | None, say: Say) -> Installed:
    """Returns the environment, which is installed unless it is there. Raises `InstallationError`,
    and `UsageError` if the lock file has none of its requirements."""
    from opperf.environments.building import build_environment

    return build_environment(spec, say, () if locked is None else locked.packages(spec))


def with_environments(
    options: Mapping[str, Any], set_here: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns a command's options, and those that the user set, with the environments of `--with`
    installed and among the interpreters. Raises as `install` does."""
    from opperf.results.messages import tell

    specs = options["requirements"]
    if not specs:
        if options["locked"] is not None:
            raise UsageError("--locked is for environments; name them with --with, as the run had")
        return dict(options), dict(set_here)
    locked = read_locked(options["locked"])
    say = (lambda text: None) if options["quiet"] else tell
    built = [install(spec, locked, say).interpreter(spec.text) for spec in specs]
    named = [
        msgspec.structs.replace(given, label=given.label or Path(given.path).parent.parent.name)
        for given in options["python"]
    ]
    python = {"python": label_interpreters([*named, *built])}
    return {**options, **python}, {**set_here, **python}


def install_arm(arm: ArmSpec, locked: Locked | None, say: Say) -> ArmSpec:
    """Returns an arm of `ab` with its environment, if it has one of its own, installed. Raises as
    `install` does."""
    if not arm.requirements:
        return arm
    from opperf.environments.requirements import read_requirements

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
