"""The command `report`: its arguments and options."""

from __future__ import annotations

from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import choice_option, count_option, debug, dimensions, report_output
from opperf.parsing import KeptPath

RANKINGS = ("time", "calls", "memory")


@command()
@click.argument("files", metavar="RUNFILE...", nargs=-1, required=True, type=KeptPath())
@choice_option(
    "--rank",
    choices=RANKINGS,
    help="What comes first: the most time of all calls, the most calls, or the largest peak of "
    "memory.",
)
@dimensions("Rank the values", "  [default: overload, as other tables]")
@count_option(
    "--top",
    help="Number of operators to show.  [default: 20; all in json and csv]",
)
@report_output("report")
@debug
@click.pass_context
def report(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Rank the operators of run files by the time of all their calls: how often a
    recording or another source saw each case, times the median time of its forward pass and, where
    measured, of its backward pass. Several files are added up.

    A file is one of `opperf run -f jsonl`, or @last, @-2 or @ID, as `opperf runs` lists them."""
    from opperf.reports.hotspots.command import Request, report_command

    ctx.exit(report_command(Request(**options | {"by": options["by"] or ("overload",)})))
