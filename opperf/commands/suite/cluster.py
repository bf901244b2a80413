"""The command `suite cluster`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import debug, written_file


@command(
    examples={
        "The nodes of a system as a cluster": (
            "opperf suite cluster system.yaml -o cluster.yaml && ray up cluster.yaml"
        ),
    }
)
@click.argument("file", metavar="SYSTEM.yaml", type=click.Path(path_type=Path))
@click.option(
    "--setup",
    multiple=True,
    metavar="LINE",
    help="A line of shell that each node runs before it starts: --setup 'source env/bin/activate'. "
    "Repeat it for several.",
)
@click.option(
    "--no-check",
    is_flag=True,
    help="Do not look whether nodes answer here.",
)
@written_file("The configuration, for `ray up FILE`.")
@debug
@click.pass_context
def cluster(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Write the configuration of Ray's launcher for the nodes of a system, milabench's
    system.yaml: `ray up` then starts a cluster over SSH, for --executor ray.

    Exit codes: 0 it is written, 1 a node does not answer, which is named, and nothing is written,
    2 a file that is wrong."""
    ctx.exit(_cluster(**options))


def _cluster(
    file: Path, setup: tuple[str, ...], no_check: bool, output: Path, overwrite: bool
) -> int:
    # Help and completion do without the imports.
    import msgspec

    from opperf.errors import FOUND
    from opperf.execution.fleet.cluster_config import find_unreachable, make_cluster
    from opperf.plurals import pluralize
    from opperf.results.messages import tell
    from opperf.results.output import check_output, replace
    from opperf.suites.system import read_system

    check_output(output, overwrite, [file])
    system = read_system(file, dict(os.environ), {})
    made = make_cluster(system, file, setup)
    unreachable = () if no_check else find_unreachable(system.nodes)
    for line in unreachable:
        tell(line)
    if unreachable:
        return FOUND
    # JSON is YAML.
    replace(output, msgspec.json.format(msgspec.json.encode(made.config), indent=2) + b"\n")
    print(f"{output}: {pluralize(len(system.nodes), 'node')}; start them with: ray up {output}")
    for command_line in made.by_hand:
        print(f"and this one of another user by: {command_line}")
    return 0
