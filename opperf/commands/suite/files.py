"""The commands on suite files, `suite check`, `suite list` and `suite show`: their arguments and
options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from opperf.commands.command import command
from opperf.parameters import as_json, combine, debug, names_option

Function = TypeVar("Function", bound=Callable[..., Any])

FILE_METAVAR = "FILE.yaml"

suite_files = click.argument(
    "files", metavar=f"{FILE_METAVAR}...", nargs=-1, required=True, type=click.Path(path_type=Path)
)

suite_options = combine(
    names_option(
        "--select",
        help="Only benches of these names, groups, install groups, tags or folders; globs, commas "
        "separate several.",
    ),
    names_option("--exclude", help="No benches of these names, groups, tags or folders."),
    click.option(
        "--override",
        "overrides",
        multiple=True,
        metavar="NAME.KEY=VALUE",
        help="Set a value of a bench, a template, all benches (*) or the system: "
        "'*.voir.options.stop=10', system.arch=cpu. Repeat it for several.",
    ),
    click.option(
        "--system",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="File of the system: architecture, nodes, options.  [default: this machine]",
    ),
    click.option(
        "--capabilities",
        multiple=True,
        metavar="NAME=VALUE",
        help="What requires_capabilities of benches sees in place of what the system has: nodes=2 "
        "is two nodes, gpu.count=8. Repeat it, or separate several with commas.",
    ),
    click.option(
        "--base",
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        help="Folder of the benches' data, caches and outputs.  [default: in opperf's cache]",
    ),
)
"""Options of all commands that resolve suite files."""


@command()
@suite_files
@suite_options
@debug
@click.pass_context
def check(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Check suite files: that all in them resolves, and what is not there on this machine.

    Later files are merged over earlier ones. Exit codes: 0 all is there, 1 a bench lacks a script
    or a file, 2 a file that does not resolve, with file, line and keys of what is wrong."""
    from opperf.commands.suite.listing import check_command

    ctx.exit(check_command(options))


@command("list")
@suite_files
@suite_options
@as_json
@debug
@click.pass_context
def list_benches(ctx: click.Context, /, debug: bool, json: bool, **options: Any) -> None:
    """List the benches of suite files, those of no template: whether each is enabled, its weight,
    group, tags, processes and the values of its matrix."""
    from opperf.commands.suite.listing import list_command

    ctx.exit(list_command(options, json))


@command()
@suite_files
@click.argument("name", metavar="NAME")
@suite_options
@as_json
@debug
@click.pass_context
def show(ctx: click.Context, /, debug: bool, json: bool, name: str, **options: Any) -> None:
    """Show a bench: what it runs, as a command to paste, its values, and where each is from."""
    from opperf.commands.suite.showing import show_command

    ctx.exit(show_command(options, name, json))
