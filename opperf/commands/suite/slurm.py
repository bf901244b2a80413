"""The command `suite slurm`."""

from __future__ import annotations

from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.suite.files import suite_files, suite_options
from opperf.parameters import count_option, debug, written_file


@command(
    examples={
        "Four nodes, each of which runs a part": (
            "opperf suite slurm standard --parts 4 -o standard.sh && sbatch standard.sh"
        ),
    }
)
@suite_files
@suite_options
@count_option("--parts", default=1, show_default=True, help="Jobs of the array.")
@click.option(
    "--gpus",
    type=click.IntRange(min=0),
    metavar="N",
    help="GPUs of each node.  [default: those of the system, if a bench has a process for each]",
)
@count_option("--nodes", help="Nodes of each job.  [default: the most that a bench needs]")
@count_option(
    "--minutes", help="Time limit of each job.  [default: that of all benches one after the other]"
)
@click.option(
    "--sbatch",
    "sbatch",
    multiple=True,
    metavar="OPTION",
    help="A further option of sbatch: --sbatch=--account=mine. Repeat it for several.",
)
@click.option(
    "--setup",
    multiple=True,
    metavar="LINE",
    help="A line of shell before the suite: --setup 'module load cuda'. Repeat it for several.",
)
@written_file("The script. Run files and logs are in the folder of its name without the extension.")
@click.option("--submit", is_flag=True, help="Submit it too, by submitit.")
@debug
@click.pass_context
def slurm(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Write the script of a Slurm array job, each job of which runs a part of the cases of suite
    files; a last one, which depends on them, joins their run files by `opperf merge`.

    The nodes need the files, opperf and the benches' environments (`opperf suite install`) by the
    same paths."""
    from opperf.commands.suite.scheduling import slurm_command

    ctx.exit(slurm_command(options))
