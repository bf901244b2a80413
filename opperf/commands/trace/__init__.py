"""The command `trace`: its arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import debug, explicit_options, report_output

DEPTH = 4
"""Levels of a tree: steps, what a program labels in them, operators, and what these call."""

DEEPEST = 64
"""Most levels of a tree; programs nest fewer."""


@command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--tree", is_flag=True, help="Show the nodes as a tree, in place of the operators.")
@click.option(
    "--depth",
    type=click.IntRange(1, DEEPEST),
    metavar="N",
    default=DEPTH,
    show_default=True,
    help="Levels of --tree.",
)
@click.option(
    "--node",
    type=click.IntRange(min=0),
    metavar="ID",
    help="Show this node: arguments, tensors, what is above and below it, times.",
)
@click.option(
    "--tensor",
    type=click.IntRange(min=0),
    metavar="ID",
    help="Show this tensor: which call made it, which use it, and its storage.",
)
@click.option(
    "--rank",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the trace of this rank, of several.",
)
@click.option(
    "--to",
    "written",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the calls for `opperf run`, by the extension: .jsonl, a recording with counts, "
    "places and times; .txt, a log of operator inputs; .json, a configuration of PARAM's.",
)
@report_output("trace")
@debug
@click.pass_context
def trace(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Show what is in traces of a program: execution traces of PyTorch and Chakra, and traces of
    PyTorch's profiler (.json, .json.gz, .tar.gz, or a folder with a file for each rank). An
    execution trace and a profiler's trace of the same process are one: with the times of the
    second. Several ranks are shown side by side. `opperf run FILE` measures the calls."""
    from opperf.commands.trace.running import Request, trace_command

    explicit = frozenset(explicit_options(ctx, options))
    ctx.exit(trace_command(Request(**options, explicit=explicit)))
