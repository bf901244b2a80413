"""The command `plot`: its arguments and options."""

from __future__ import annotations

from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import count_option, debug, dimensions, names_option, output_options
from opperf.parsing import KeptPath


@command()
@click.argument("files", metavar="RUNFILE...", nargs=-1, required=True, type=KeptPath())
@output_options("Image or page to write: .png, .svg or .html.  [default: a chart in the terminal]")
@names_option(
    "--metric",
    "metrics",
    help="Metrics to draw, e.g. forward,backward,memory, or bandwidth: bytes moved over the "
    "forward time.  [default: forward, and bandwidth if the bytes are known]",
)
@click.option(
    "--x",
    metavar="SIZE",
    help="Swept variable along the axis, or elements, those of the largest tensor, or threads, or "
    "operator, whose bars are below each other.  [default: the variable with the most values; "
    "operator without a sweep]",
)
@dimensions(
    "Draw a line, or a bar, for each value",
    "  Those that differ but are not named get a chart each.  [default: all that differ]",
)
@count_option("--top", help="Most rows of bars, the largest.  [default: 120]")
@debug
@click.pass_context
def plot(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Draw the results of run files (-f jsonl, or @last and others of `opperf runs`), as text in
    the terminal or as an image: lines against a swept size; without a sweep a row of bars for each
    operator and its inputs, with a bar for each mode, dtype, or whatever else differs. Axes are
    logarithmic where sizes grow by factors, and where bars differ much; bands and the lines on bars
    are 95 % intervals."""
    from opperf.results.plots.command import Request, plot_command

    ctx.exit(plot_command(Request(**options)))
