"""The command `explain`: its arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import choice_option, count_option, debug, report_output
from opperf.parsing import KeptPath

PASSES = ("forward", "backward")

ORDERS = ("exclusive", "inclusive")


@command()
@click.argument("base", type=KeptPath())
@click.argument("new", required=False, type=KeptPath())
@click.argument("id", required=False)
@choice_option("--pass", "measured_pass", choices=PASSES, help="The pass of the case.")
@choice_option(
    "--sort",
    choices=ORDERS,
    help="What comes first: the largest change of a function's own code, or of all that runs while "
    "it does.",
)
@count_option("--top", help="Number of functions to show.  [default: 20; all in json]")
@click.option(
    "--event",
    default="",
    metavar="NAME",
    help="What to compare, by callgrind's name, e.g. Ir (instructions), D1mr (cache misses).  "
    "[default: the first that the files count]",
)
@click.option(
    "--no-python",
    is_flag=True,
    help="Show the functions of the Python interpreter itself as one line.",
)
@click.option(
    "--flame",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a flame graph of the difference, .svg or .html.",
)
@report_output("explain")
@debug
@click.pass_context
def explain(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Show which functions made the difference between two counts of instructions, BASE and NEW:
    run files of `opperf run --profiler instructions` and the ID of a case (a prefix of it, or an
    operator that has a single case), or two files of callgrind's. A session of `opperf ab
    --profiler instructions` has both sides: `opperf explain FILE ID`.

    Exclusive counts are of a function's own code, inclusive ones of all that runs while it does;
    both are per call of the operator. Functions are matched by name and by the name of their
    library.
    """
    from opperf.commands.explain.running import Request, explain_command

    ctx.exit(explain_command(Request(**options)))
