"""The options `--with` and `--locked`: environments that are installed before anything is
measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from opperf.errors import UsageError
from opperf.parameters import combine
from opperf.parsing import clicked
from opperf.requests.installing import install, read_locked
from opperf.requests.parsers import label_interpreters, parse_requirements

if TYPE_CHECKING:
    pass

Say = Callable[[str], None]

# Help and completion do without the imports of what installs.


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
