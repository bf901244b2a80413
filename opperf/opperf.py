"""The command line."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # Run as `python opperf/opperf.py`, Python puts this folder first on the path, where the
    # name `opperf` is this file and not the package it lies in.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import click

import opperf
from opperf import defaults
from opperf.errors import INTERRUPTED, InternalError, OpperfError, UsageError
from opperf.parameters import (
    as_json,
    choosing,
    debug,
    dtype,
    framework,
    shapes_given,
    size,
    split_commas,
    statuses_given,
)


class DefaultToRun(click.Group):
    """A group whose command is `run` unless another one is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version"}
        if not args or (args[0] not in self.commands and args[0] not in own):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=DefaultToRun,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Without a command, `run` is meant: `opperf relu` is `opperf run relu`.",
)
@click.version_option(opperf.__version__, prog_name="opperf")
def cli() -> None:
    """Benchmark the operators of a machine-learning framework, one by one."""


@cli.command()
@click.argument("names", nargs=-1, metavar="[OPERATOR]...", callback=split_commas)
@click.option(
    "--ops",
    multiple=True,
    metavar="NAMES",
    callback=split_commas,
    help="Operators, as names, globs ('broadcast_*'), regexes ('re:^sum') or paths "
    "(nd.add); also as plain arguments. Commas separate several.",
)
@choosing
@click.option(
    "--ctx",
    metavar="DEVICE",
    help="cpu, cpu(0), gpu, gpu(0), gpu(2) ...  [default: gpu(0) where this build and "
    "machine have a GPU, else cpu(0)]",
)
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
@click.option(
    "-p",
    "--profiler",
    type=click.Choice(["native", "python"], case_sensitive=False),
    help="native: the framework's own profiler, kernel time. python: the wall clock "
    "around the call and the wait for it.  [default: native where the framework has one]",
)
@click.option(
    "-w",
    "--warmup",
    default=defaults.WARMUP,
    show_default=True,
    type=click.IntRange(min=0),
    help="Calls before anything is timed.",
)
@click.option(
    "-r",
    "--runs",
    default=defaults.RUNS,
    show_default=True,
    type=click.IntRange(min=1),
    help="Calls that are timed, in each pass.",
)
@click.option(
    "--max-time",
    "max_time_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Longest time a pass is timed for; a slow operator then makes do with fewer calls, 3 at "
    f"least.  [default: {defaults.MAX_TIME_S:g}, and no limit where -w or -r is given]",
)
@click.option(
    "--quick",
    is_flag=True,
    help="One configuration and few calls of each operator, for a look at a whole registry in "
    "minutes; -w, -r, --max-time and --max-configs still count.",
)
@click.option(
    "--max-configs",
    "configurations",
    type=click.IntRange(min=1),
    help="Configurations of each operator that are measured at most.  [default: all]",
)
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
@click.option("--no-backward", is_flag=True, help="Measure the forward pass only.")
@click.option("--no-memory", is_flag=True, help="Measure times only.")
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seed of the inputs' contents, and of the order with --shuffle.",
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

    default = click.core.ParameterSource.DEFAULT
    changed = {
        name: value
        for name, value in options.items()
        if ctx.get_parameter_source(name) is not default
    }
    ctx.exit(run_command(options, changed))


@cli.command("list")
@click.argument("names", nargs=-1, metavar="[OPERATOR]...", callback=split_commas)
@choosing
@as_json
@debug
@framework
@click.pass_context
def list_operators(ctx: click.Context, /, **options: object) -> None:
    """List operators: names, category, the rule that makes their inputs, parameters, aliases."""
    from opperf.runner.registry_commands import list_command

    ctx.exit(list_command(options))


@cli.command()
@click.argument("name", metavar="OPERATOR")
@size
@dtype
@as_json
@debug
@framework
@click.pass_context
def show(ctx: click.Context, /, **options: object) -> None:
    """Show one operator, its cases, and the script that reproduces each in the framework itself."""
    from opperf.runner.registry_commands import show_command

    ctx.exit(show_command(options))


@cli.command()
@click.argument("run_file", required=False, metavar="[RUNFILE]", type=click.Path(path_type=Path))
@click.option(
    "--min",
    "least",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if a smaller share of the distinct operators is measured.",
)
@as_json
@click.option("--quiet", is_flag=True, help="Show no progress.")
@debug
@framework
@click.pass_context
def coverage(ctx: click.Context, /, **options: object) -> None:
    """Tell how much of the registry is measured: by the records of a run file, or else by running
    every operator once, at a small size."""
    from opperf.runner.registry_commands import coverage_command

    ctx.exit(coverage_command(options))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = cli.main(args=words, prog_name="opperf", standalone_mode=False)
    except click.exceptions.Abort:
        code = INTERRUPTED
    except click.ClickException as error:
        code = fail(UsageError(error.format_message()))
    except Exception as error:
        if "--debug" in words:
            traceback.print_exc()
        code = fail(
            error
            if isinstance(error, OpperfError)
            else InternalError(
                f"a fault of opperf itself, please report it: {type(error).__name__}: {error}; "
                "--debug shows where"
            )
        )
    sys.exit(code)


def fail(error: OpperfError) -> int:
    """Say what is wrong, on one line, and give the exit code."""
    click.echo(f"opperf: {' '.join(str(error).split())}", err=True)
    return error.exit_code


if __name__ == "__main__":
    main()
