"""The command `frameworks`: its options."""

from __future__ import annotations

import click

from opperf.commands.command import command
from opperf.parameters import as_json, debug


@command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@as_json
@debug
@click.pass_context
def frameworks(ctx: click.Context, /, **options: object) -> None:
    """List the frameworks that opperf can measure: installed versions, and the command that
    installs each of the others. With NAMES: their devices, dtypes, profilers, execution modes,
    namespaces and categories."""
    from opperf.runner.frameworks_command import frameworks_command

    ctx.exit(frameworks_command(options))
