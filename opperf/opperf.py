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
from opperf.errors import InternalError, OpperfError, UsageError

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 plus the number of SIGINT, as shells have it."""

DEFAULT_WARMUP = 10
DEFAULT_RUNS = 50
"""As `run_performance_test` has them: enough for a median on a quiet machine, and the whole
registry in minutes."""

DEFAULT_TIMEOUT_S = 300.0
"""Seconds a case may take. The slowest default case takes under a minute on two cores."""

DTYPES = "float16, float32, float64, bfloat16, int8, uint8, int32, int64 or bool"


class DefaultToRun(click.Group):
    """A group whose command is `run` unless another one is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version"}
        if not args or (args[0] not in self.commands and args[0] not in own):
            args = ["run", *args]
        return super().parse_args(ctx, args)


def shapes_given(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, tuple[int, ...]]:
    """`lhs=1024x1024` as a name and a shape."""
    shapes = {}
    for value in values:
        name, equals, text = value.partition("=")
        # Python writes a shape of one extent with a comma behind it.
        inside = text.replace("(", "").replace(")", "").removesuffix(",")
        extents = inside.replace(",", "x").split("x")
        try:
            shape = tuple(int(extent) for extent in extents)
        except ValueError:
            shape = ()
        if not name or not equals or not shape or any(extent < 1 for extent in shape):
            raise click.BadParameter(
                f"{value!r} is not a shape; write it as lhs=1024x1024, every extent at least 1",
                ctx,
                param,
            )
        shapes[name] = shape
    return shapes


def split_commas(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """`--ops a,b --ops c` as a, b, c. A regular expression keeps its commas."""
    words: list[str] = []
    for value in values:
        given = [value] if value.startswith("re:") else value.split(",")
        named = [word.strip() for word in given if word.strip()]
        if not named:
            # An empty variable of a script must not mean everything.
            raise click.BadParameter(f"{value!r} names nothing", ctx, param)
        words += named
    return tuple(words)


RETRIED = ("failed", "crashed", "timeout", "skipped")
"""Ends of a case that may be tried again."""


def statuses_given(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """`failed,crashed` as a list of statuses."""
    words = tuple(word.lower() for word in split_commas(ctx, param, values))
    for word in words:
        if word not in RETRIED:
            raise click.BadParameter(f"{word!r} is none of {', '.join(RETRIED)}", ctx, param)
    return words


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
@click.option(
    "--category",
    "categories",
    multiple=True,
    callback=split_commas,
    help="Only operators of this category, e.g. unary, reduction, optimizer.",
)
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    callback=split_commas,
    help="Only operators of this namespace: nd, np, npx, internal, contrib, sparse, "
    "image, linalg, random.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="NAMES",
    callback=split_commas,
    help="Leave these operators out; names, globs or regexes.",
)
@click.option(
    "--ctx",
    metavar="DEVICE",
    help="cpu, cpu(0), gpu, gpu(0), gpu(2) ...  [default: gpu(0) where this build and "
    "machine have a GPU, else cpu(0)]",
)
@click.option("--dtype", default="float32", show_default=True, help=DTYPES + ".")
@click.option(
    "-f",
    "--output-format",
    default="json",
    show_default=True,
    type=click.Choice(["json", "md", "csv", "jsonl"], case_sensitive=False),
    help="json and md as MXNet's users know them, csv, or jsonl, the run file with every sample.",
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
    default=DEFAULT_WARMUP,
    show_default=True,
    type=click.IntRange(min=0),
    help="Calls before anything is timed.",
)
@click.option(
    "-r",
    "--runs",
    default=DEFAULT_RUNS,
    show_default=True,
    type=click.IntRange(min=1),
    help="Calls that are timed, in each pass.",
)
@click.option(
    "--max-time",
    "max_time_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Longest time a pass is timed for; a slow operator then makes do with fewer calls, 5 at "
    "least.  [default: 2, and no limit where -w or -r is given]",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Few calls of each operator, for a look at a whole registry in minutes; -w, -r and "
    "--max-time still count.",
)
@click.option(
    "--int64-tensor",
    default="off",
    show_default=True,
    type=click.Choice(["on", "off"], case_sensitive=False),
    help="Tensors of more than 2**31 elements, on builds that index them.",
)
@click.option(
    "--size",
    default="default",
    show_default=True,
    type=click.Choice(["small", "default", "large"], case_sensitive=False),
    help="Size of the inputs.",
)
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
    default=DEFAULT_TIMEOUT_S,
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
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.option("--framework", default="mxnet", show_default=True, help="Framework to benchmark.")
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
