"""The command `run`: its arguments and options."""

from __future__ import annotations

from pathlib import Path

import click

from opperf import defaults
from opperf.parameters import (
    changed,
    configurations,
    debug,
    device,
    drawing,
    dtype,
    framework,
    operators,
    passes,
    profiler,
    seed,
    shapes_given,
    size,
    statuses_given,
)


@click.command()
@operators
@device
@dtype
@click.option(
    "-f",
    "--output-format",
    default="json",
    show_default=True,
    type=click.Choice(["json", "md", "csv", "jsonl"], case_sensitive=False),
    help="json, md (a page to read), csv, or jsonl, the run file with every sample.",
)
@click.option(
    "-o",
    "--output-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="[default: ./<framework>_operator_benchmarks.<format>]",
)
@profiler
@click.option(
    "--precision",
    default=defaults.PRECISION,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True, max=1, max_open=True),
    metavar="SHARE",
    help="Sample until the 95 % interval of the median is within this share of it, or --max-time "
    "is spent.",
)
@click.option(
    "--max-time",
    "max_time_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Longest time a case is timed for, shared among its passes; a slow operator makes do with "
    f"fewer samples, 3 at least.  [default: {defaults.MAX_TIME_S:g}, or less in a run of many "
    f"cases, {defaults.SWEEP_S / 60:g} minutes together; no limit where -r is given]",
)
@click.option(
    "-w",
    "--warmup",
    type=click.IntRange(min=0),
    help="Calls before anything is timed.  [default: until they get no faster]",
)
@click.option(
    "-r",
    "--runs",
    type=click.IntRange(min=1),
    help="Calls that are timed, in each pass.  [default: as many as --precision takes]",
)
@click.option(
    "--quick",
    is_flag=True,
    help="One configuration and few calls of each operator, for a look at a whole registry in "
    "minutes; -w, -r, --max-time and --max-configs still count.",
)
@configurations
@click.option(
    "--int64-tensor",
    default="off",
    show_default=True,
    type=click.Choice(["on", "off"], case_sensitive=False),
    help="Tensors of more than 2**31 elements, on builds that index them.",
)
@size
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=SHAPE",
    callback=shapes_given,
    help="Shape of an argument, e.g. lhs=1024x1024, instead of the rule's.",
)
@click.option(
    "--cache",
    default="hot",
    show_default=True,
    type=click.Choice(["hot", "cold"], case_sensitive=False),
    help="hot: a call finds its inputs where the one before left them. cold: in no cache.",
)
@passes
@click.option("--no-memory", is_flag=True, help="Measure times only.")
@drawing
@seed
@click.option(
    "--rounds",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    metavar="K",
    help="Visit all cases K times, each time in another random order, so that a drift of the "
    "machine falls on all of them.",
)
@click.option("--shuffle", is_flag=True, help="Measure the cases in a random order.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Compute threads.  [default: the framework's own choice]",
)
@click.option(
    "--timeout",
    "timeout_s",
    default=defaults.TIMEOUT_S,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Longest time for one case.",
)
@click.option(
    "--list",
    "list_only",
    is_flag=True,
    help="Show what would run, with inputs and the rule that made them.",
)
@click.option(
    "--dry-run", is_flag=True, help="Check everything and say what would be done, without doing it."
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[RUNFILE]",
    help="Finish a run that was cut short: the one that was writing to the output "
    "file, or this run file.",
)
@click.option(
    "--retry",
    multiple=True,
    metavar="STATUSES",
    callback=statuses_given,
    help="With --resume, measure cases again that ended so: failed, crashed, timeout, skipped.",
)
@click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")
@click.option("--strict", is_flag=True, help="Exit with 1 if a case failed.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@debug
@framework
@click.pass_context
def run(ctx: click.Context, /, **options: object) -> None:
    """Measure operators: all of them, or those chosen by name, category and namespace."""
    from opperf.runner.command import run_command

    ctx.exit(run_command(options, changed(ctx, options)))
