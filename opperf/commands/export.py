"""The command `export`: its arguments and options."""

from __future__ import annotations

import click

from opperf.commands.command import command
from opperf.parameters import columns, debug, output_options
from opperf.parsing import RunFilePath

TOOLS = ("pytest-benchmark", "bencher", "github-action-benchmark", "md")


@command(short_help="Write a run file for another tool, or as Markdown.")
@click.argument("run_file", metavar="RUNFILE", type=RunFilePath())
@click.option(
    "--to",
    "tool",
    required=True,
    type=click.Choice(TOOLS, case_sensitive=False),
    help="Tool to write for. github-action-benchmark reads it as customSmallerIsBetter, Bencher "
    "with --adapter json. md is a page to read.",
)
@output_options(
    "Write to this file, which is JSON, or Markdown with --to md; - prints.",
    ["json", "md"],
    default="-",
)
@columns
@debug
@click.pass_context
def export(ctx: click.Context, /, **options: object) -> None:
    """Write a run file (-f jsonl, or @last and others of `opperf runs`) in the format of another
    benchmark tool, or as Markdown."""
    from opperf.results.exports.command import export_command

    ctx.exit(export_command(options))
