"""The command `analyze`: its arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import choice_option, debug

FORMATS = ("csv", "jsonl")

FOLDER = Path("output")
"""The folder of results, by default that of PyTorch/XLA's runner."""


@command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@choice_option(
    "--output-format",
    choices=FORMATS,
    help="Write metric_report.csv, or metric_report.jsonl.",
)
@click.option(
    "--output-dirname",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder, as PyTorch/XLA's analyzer names it.",
)
@click.option(
    "--database",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Table that a report in CSV is appended to.  [default: database.csv in DIR]",
)
@click.option(
    "--timestamp",
    type=click.FloatRange(min=0, max=253402300799),
    metavar="SECONDS",
    help="Time of the records that have none, since 1970.  [default: now]",
)
@choice_option(
    "--experiment-name", choices=("run_all",), help="PyTorch/XLA: all records are tabulated."
)
@click.option("--hide-errors", is_flag=True, help="Leave the messages of errors empty.")
@debug
@click.pass_context
def analyze(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Tabulate the results of models in DIR, ./output by default: the minimum, median, maximum,
    mean and standard deviation of each metric of each record in its files *.jsonl, which
    PyTorch/XLA's benchmarks write. The report is written to DIR, in place of the last one."""
    from opperf.commands.analyze.running import Request, analyze_command
    from opperf.errors import UsageError

    # The one that there is.
    del options["experiment_name"]
    named = [options.pop("folder"), options.pop("output_dirname")]
    folders = {folder for folder in named if folder is not None}
    if len(folders) > 1:
        raise UsageError(f"DIR is {named[0]}, and --output-dirname {named[1]}; name one of them")
    ctx.exit(analyze_command(Request(folder=next(iter(folders), FOLDER), **options)))
