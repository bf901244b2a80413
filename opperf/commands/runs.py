"""The command `runs`: its arguments and options."""

from __future__ import annotations

import click

from opperf.commands.command import command
from opperf.parameters import as_json, debug
from opperf.parsing import parse_labels, parse_moment, split_commas

KINDS = ("run", "ab")


@command()
@click.argument("names", nargs=-1, metavar="[OPERATOR|@RUN]...", callback=split_commas)
@click.option(
    "--kind",
    type=click.Choice(KINDS, case_sensitive=False),
    help="Only runs, or only sessions of `opperf ab`.",
)
@click.option(
    "--framework", metavar="NAME", help="Only runs with cases of this framework; a name or glob."
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    callback=parse_labels,
    help="Only runs with this label, as `opperf run --label` set it; the value may be a glob.",
)
@click.option(
    "--since",
    metavar="DATE",
    callback=parse_moment,
    help="Only runs since then: 2026-01-31, 2026-01-31T12:30, or 3d, 12h, 30m for days, hours and "
    "minutes ago.",
)
@click.option(
    "--until", metavar="DATE", callback=parse_moment, help="Only runs until then, likewise."
)
@click.option("--unfinished", is_flag=True, help="Only runs that were not finished.")
@click.option(
    "--delete", is_flag=True, help="Delete the runs that are found, with --all every one."
)
@click.option("--all", "everything", is_flag=True, help="With --delete alone: all kept runs.")
@as_json
@debug
@click.pass_context
def runs(ctx: click.Context, /, **options: object) -> None:
    """List the run files that opperf keeps, the latest first: every run leaves one, whatever its
    output, and so does every session of `opperf ab`; 200 are kept, in the folder that the
    environment variable OPPERF_DATA names. Restrict the list by operators (names, globs or regexes)
    or ids.

    Commands that take a run file take @ID, or @last, @-2 and so on for the latest one, the one
    before it: `opperf report @last`, `opperf compare @-2 @last`, `opperf run --resume @ID`;
    of a session `opperf compare --from-ab @last` and `opperf ab --resume @ID`."""
    from opperf.runner.runs_command import runs_command

    ctx.exit(runs_command(options))
