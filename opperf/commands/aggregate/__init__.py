"""The command `aggregate`: its arguments and options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from opperf.commands.command import Command
from opperf.parameters import choice_option, debug, output_options

REPORTS = ("speedup", "latest", "latest_grouped", "histogram", "failures", "records")

FORMATS = ("csv", "tab", "text", "md", "png", "svg", "html", "json", "jsonl")

TESTS = ("inference", "training")

METRICS = ("exec", "compile")

BASELINES = ("oldest", "latest")

BACKENDS = "--backends"


Function = TypeVar("Function", bound=Callable[..., Any])


class WithBackends(Command):
    """A command whose `--backends` takes all words up to the next option, to `--` or to a file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _repeat_backends(args))


def _repeat_backends(args: list[str]) -> list[str]:
    """Returns the words with the option before each backend, as click has options of one value."""
    words: list[str] = []
    # How many backends the option has so far; None behind another option or a file.
    named: int | None = None
    for number, word in enumerate(args):
        if word == "--":
            return [*words, *args[number:]]
        if word == BACKENDS:
            named = 0
            words.append(word)
            continue
        # The word after the option is its value in any case.
        if word.startswith("-") or (named and Path(word).is_file()):
            named = None
        if named:
            words.append(BACKENDS)
        named = None if named is None else named + 1
        words.append(word)
    return words


def _side(name: str, help: str) -> Callable[[Function], Function]:
    return click.option(
        name, type=click.FloatRange(min=1, max=100), metavar="INCHES", help=help, default=None
    )


@click.command(
    cls=WithBackends,
    examples={
        "Speed-ups over time, as CSV": "opperf aggregate results/*.jsonl",
        "The newest speed-ups of three backends, as an image": (
            "opperf aggregate results/*.jsonl --report latest_grouped -o latest.svg --backends "
            "eager inductor openxla+dynamo"
        ),
        "What fails since when, as a page": (
            "opperf aggregate results/*.jsonl --report failures -o failures.html"
        ),
    },
)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@choice_option(
    "--report",
    choices=REPORTS,
    help="speedup: geometric means over models, for each time; latest: the last speed-up of each "
    "model, sorted for each backend; latest_grouped: the same by model; histogram: percentiles "
    "over models, for each time; failures: pass rates by suite and week, and what fails since "
    "when; records: the records themselves, as JSON lines of PyTorch/XLA or as CSV of PyTorch's "
    "runner.",
)
@click.option(
    "-f",
    "--format",
    "output_format",
    type=click.Choice(FORMATS, case_sensitive=False),
    help="tab is a grid of text with two decimals; png, svg and html are charts, but html of "
    "failures is a page.  [default: by the output's extension, else csv, of failures text]",
)
@click.option(
    "--accelerator",
    metavar="NAME",
    help="Only records of this accelerator, a part of its name, e.g. v100.  [default: that of all "
    "records; of several v100; failures and records are of all]",
)
@click.option(
    "--test",
    type=click.Choice(TESTS),
    help="Only records of this test.  [default: inference; failures and records are of both]",
)
@click.option(
    BACKENDS,
    multiple=True,
    metavar="NAME...",
    help="Backends to report, the first of which is the baseline: eager, inductor, "
    "openxla+dynamo, openxla+lazytensor, or another that the records have; up to the next option "
    "or --.  [default: inductor openxla+dynamo; failures and records are of all]",
)
@choice_option(
    "--baseline",
    choices=BASELINES,
    help="What speed-ups are over: each model's oldest time of the first backend, or its times at "
    "the newest timestamp.",
)
@choice_option(
    "--metric",
    choices=METRICS,
    help="exec: the mean time of a repeat but the first three; compile: what the first repeat "
    "takes longer than the others.",
)
@click.option(
    "-k",
    "--filter",
    multiple=True,
    metavar="REGEX",
    help="Only models whose names have a match, whatever the case. Repeat it for several.",
)
@click.option(
    "-x",
    "--exclude",
    multiple=True,
    metavar="REGEX",
    help="No models whose names have a match. Repeat it for several.",
)
@click.option(
    "--filter-by-tier",
    multiple=True,
    type=int,
    metavar="TIER",
    help="Only models of this tier of TorchBench's, 1 to 3, besides those of --filter.",
)
@click.option(
    "--exclude-by-tier",
    multiple=True,
    type=int,
    metavar="TIER",
    help="No models of this tier.",
)
@click.option("--title", default="", help="A line for the title of a chart or page.")
@_side("--fig-width", "Width of a chart in inches.  [default: 9]")
@_side("--fig-height", "Height of a chart.  [default: 6.75, more for many bars]")
@click.option(
    "--timestamp",
    type=click.FloatRange(min=0, max=253402300799),
    metavar="SECONDS",
    help="Time of the records that have none.  [default: when their file was last changed]",
)
@output_options("Output file; - prints the output.", default="-")
@debug
@click.pass_context
def aggregate(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Compare the results of models over backends and over time: files of the JSON lines that
    PyTorch/XLA's benchmarks write, or tables (CSV) of PyTorch's own runner."""
    from opperf.commands.aggregate.running import Request, aggregate_command

    ctx.exit(aggregate_command(Request(**options)))
