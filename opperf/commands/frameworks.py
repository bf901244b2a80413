"""The command `frameworks`: its options."""

from __future__ import annotations

import click

from opperf.parameters import as_json, debug


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@as_json
@debug
@click.pass_context
def frameworks(ctx: click.Context, /, **options: object) -> None:
    """List the frameworks that can be measured: which are installed, in which version, and the
    command that installs the others. Of those that are named: the devices, dtypes, profilers,
    execution modes, namespaces and categories they have here."""
    from opperf.runner.frameworks_command import frameworks_command

    ctx.exit(frameworks_command(options))
