"""The commands on the environments of a suite, `suite install`, `suite prepare` and `suite shell`:
their arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.options import group_options
from opperf.commands.suite.files import suite_files, suite_options
from opperf.parameters import debug
from opperf.requests.places import Environments


@command()
@suite_files
@suite_options
@group_options(Environments, "locked")
@click.option("--force", is_flag=True, help="Install them again where they are installed.")
@click.option(
    "--lock",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write every installed version to this file, for --locked.",
)
@debug
@click.pass_context
def install(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Install the environments of the enabled benches, by uv or pip, as `suite run` does first.

    Benches of an install_group share one, which has what all enabled ones in the files ask for.
    Exit codes: 0 all are installed, 1 one cannot be, with the reason, 2 a file that does not
    resolve."""
    from opperf.commands.suite.preparing import install_command

    ctx.exit(install_command(options))


@command()
@suite_files
@suite_options
@group_options(Environments, "locked")
@debug
@click.pass_context
def prepare(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Run the prepare.py of each enabled bench that has one, which fetches its data: in its
    environment, with the arguments of the bench.

    Exit codes: 0 all are prepared, 1 one failed, 2 a file that does not resolve."""
    from opperf.commands.suite.preparing import prepare_command

    ctx.exit(prepare_command(options))


@command()
@suite_files
@click.argument("name", metavar="NAME")
@suite_options
@group_options(Environments, "locked")
@click.option(
    "--print", "prints", is_flag=True, help="Print the commands that set a shell up, for eval."
)
@debug
@click.pass_context
def shell(ctx: click.Context, /, debug: bool, name: str, prints: bool, **options: Any) -> None:
    """Start a shell in the folder of a bench, with its environment and variables."""
    from opperf.commands.suite.preparing import shell_command

    ctx.exit(shell_command(options, name, prints))
