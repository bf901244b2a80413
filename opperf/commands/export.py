"""The command `export`: its arguments and options."""

from __future__ import annotations

from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import columns, debug, output_options
from opperf.parsing import FormatName, KeptPath
from opperf.reports.formats import RUN


@command()
@click.argument("run_file", metavar="RUNFILE", type=KeptPath())
@click.option(
    "--to",
    "tool",
    required=True,
    type=FormatName(RUN),
    help="pytest-benchmark; bencher, which reads it with --adapter json; github-action-benchmark, "
    "which reads it as customSmallerIsBetter; md, a page to read; or another format of `opperf "
    "run`.",
)
@output_options("Write to this file; - prints.", RUN, default="-")
@columns
@debug
@click.pass_context
def export(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Write a run file (-f jsonl, or @last and others of `opperf runs`) in the format of another
    benchmark tool, or as a page in HTML or Markdown."""
    from opperf.reports.writing import Request, export_command

    ctx.exit(export_command(Request(**options)))
