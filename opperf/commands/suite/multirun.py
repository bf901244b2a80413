"""The command `suite multirun`: its arguments and options."""

from __future__ import annotations

from pathlib import Path

import click

from opperf.commands.command import command
from opperf.commands.suite.run import bench_options, measuring_options
from opperf.parameters import debug, explicit_options


@command(
    examples={
        "The runs of a system's file": (
            "opperf suite multirun suite.yaml --system system.yaml -o runs"
        ),
    }
)
@bench_options
@click.option(
    "-o",
    "--output-folder",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder of the run files, NAME.jsonl.",
)
@click.option("--overwrite", is_flag=True, help="Replace run files that exist.")
@click.option(
    "--resume",
    is_flag=True,
    help="Finish the runs whose file is there. Their names have no {time}.",
)
@measuring_options
@click.option("--quiet", is_flag=True, help="Print only errors.")
@debug
@click.pass_context
def multirun(ctx: click.Context, /, **options: object) -> None:
    """Run suite files several times, each time with other options of the system: those of the key
    `multirun` of --system FILE, a list of runs with a name and a matrix, as milabench has them.

    Exit codes: 0 all benches ran and are valid, 1 a bench failed, 2 a file that does not resolve,
    130 interrupted."""
    from opperf.commands.suite.multirunning import run_all

    ctx.exit(run_all(options, explicit_options(ctx, options)))
