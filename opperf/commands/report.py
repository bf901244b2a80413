"""The command `report`: its arguments and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from opperf.commands.command import command
from opperf.parameters import choice_option, count_option, debug, dimensions, report_output
from opperf.parsing import KeptPath, parse_factors

if TYPE_CHECKING:
    from opperf.model import Run

RANKINGS = ("time", "recorded", "calls", "memory")


@command()
@click.argument("files", metavar="RUNFILE...", nargs=-1, required=True, type=KeptPath())
@choice_option(
    "--rank",
    choices=RANKINGS,
    help="What comes first: the most time of all calls, the most time that they took in a recorded "
    "program, the most calls, or the largest peak of memory.",
)
@dimensions("Rank the values", "  [default: overload, as other tables]")
@count_option("--top", help="Number of operators to show.  [default: 20; all in json and csv]")
@click.option(
    "--tree",
    is_flag=True,
    help="Show the modules of a recorded program as a tree, in place of the ranking; html and json "
    "have both.",
)
@click.option(
    "--what-if",
    multiple=True,
    metavar="OPERATOR=FACTOR",
    callback=parse_factors,
    help="Show the program's time if all calls of the operator took FACTOR of their time, e.g. "
    "addmm=0.5 for half. Repeat it for several.",
)
@click.option(
    "--scripts",
    is_flag=True,
    help="In a page (-o FILE.html), the script of each case too, which its framework makes.",
)
@report_output("report")
@debug
@click.pass_context
def report(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Rank the operators of run files by the time of all their calls: how often a
    recording or another source saw each case, times the median time of its forward pass and, where
    measured, of its backward pass. Several files are added up.

    A file is one of `opperf run -f jsonl`, or @last, @-2 or @ID, as `opperf runs` lists them. It
    may be a recording: its calls are ranked by their times in the program, or by their number, and
    shown with where they were made and how much of the program's time they explain. -o FILE.svg
    draws a flame graph, -o FILE.html a page of everything."""
    from opperf.reports.hotspots.command import Request, report_command

    options["by"] = options["by"] or ("overload",)
    options["scripts"] = _make_scripts if options["scripts"] else None
    ctx.exit(report_command(Request(**options)))


def _make_scripts(run: Run) -> dict[str, str]:
    from opperf.execution.scripts import scripts_of

    return scripts_of(run.cases, run.header.interpreters)
