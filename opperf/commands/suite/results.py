"""The commands on results of suites, `suite validate`, `suite report` and `suite compare`: their
arguments and options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import choice_option, debug, names_option, report_outputs
from opperf.parsing import clicked
from opperf.requests.parsers import findings_among
from opperf.shares import read_share

AS = ("opperf", "milabench")

FINDINGS = ("regressed", "improved", "missing")
"""Those that `suite compare` can fail on."""


class ResultsPath(click.Path):
    """A path of a run file, of a folder in milabench's layout or of a stream, or the name of a kept
    run, as `@last`."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # Help and completion do without the import.
        from opperf.results.run_files import locate

        path = Path(value)
        return super().convert(path if path.exists() else locate(str(value)), param, ctx)


def results(name: str, nargs: int = -1) -> Callable[[Any], Any]:
    """Returns an argument of runs."""
    return click.argument(
        name,
        metavar="RUN..." if nargs == -1 else name.upper(),
        nargs=nargs,
        required=True,
        type=ResultsPath(),
    )


as_other = choice_option(
    "--as",
    "as_",
    choices=AS,
    help="Whose rules and figures; those of milabench have its faults, too.",
)

by = names_option(
    "--by",
    help="Further tables of the benches by group, tag, env, or a key of their matrix; commas "
    "separate several.",
)

scatter = click.option(
    "--scatter",
    metavar="SHARE",
    callback=clicked(read_share),
    help="Standard deviation of a program's speed from one start to the next, which is assumed of "
    "benches that were run once, and as much again of a single observation.  [default: 5%]",
)

overwrite = click.option(
    "--overwrite", is_flag=True, help="Replace the output files if they exist."
)


@command()
@results("runs")
@names_option(
    "--validations",
    help="Layers, or all: started, timeout, error, ensure_rate, loss, usage, samples, planning, "
    "version, throttle, drift, environment.  [default: all; as milabench error, ensure_rate, "
    "version]",
)
@as_other
@click.option("--strict", is_flag=True, help="Warnings are failures.")
@report_outputs("suite validate")
@overwrite
@debug
@click.pass_context
def validate(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Validate stored runs of a suite, layer by layer: what failed, and which figures to doubt.

    RUN is a run file, @last, a folder in milabench's layout, or a stream of one; several are
    repeats on one machine. Exit codes: 0 nothing failed, 1 something failed (a timeout is a
    failure), 2 a file that cannot be read."""
    from opperf.suite_results.commands import validate_command

    ctx.exit(validate_command(options))


@command()
@results("runs")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="RUN",
    type=ResultsPath(),
    help="Run of the machine that scores are ratios to. Repeat it for several runs of it.",
)
@by
@click.option(
    "--price",
    type=click.FloatRange(min=0, min_open=True),
    metavar="AMOUNT",
    help="Price of the machine: gives performance per money.",
)
@as_other
@scatter
@report_outputs("suite report")
@overwrite
@debug
@click.pass_context
def report(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Report a run of a suite: a row for each bench, and the total against a baseline machine, a
    geometric mean of ratios by weight, in which no unit matters.

    RUN is a run file, @last, a folder in milabench's layout, or a stream of one; several are
    repeats on one machine. A bench that did not run is listed, and in no total."""
    from opperf.suite_results.commands import report_command

    ctx.exit(report_command(options))


@command()
@results("base", 1)
@results("new", 1)
@click.option(
    "--repeat-a",
    multiple=True,
    metavar="RUN",
    type=ResultsPath(),
    help="A further run of A on the same machine. Repeat it for several.",
)
@click.option("--repeat-b", multiple=True, metavar="RUN", type=ResultsPath(), help="Likewise of B.")
@click.option(
    "--env-a",
    metavar="LABEL",
    help="Compare the benches of A that were run in this environment, of several, e.g. `--env-a "
    "torch==2.12 --env-b torch==2.13` of one run.",
)
@click.option("--env-b", metavar="LABEL", help="Likewise of B.")
@by
@click.option(
    "--threshold",
    metavar="SHARE",
    callback=clicked(read_share),
    help="Smallest change of interest.  [default: 2%]",
)
@click.option(
    "--same-within",
    metavar="SHARE",
    callback=clicked(read_share),
    help="A bench is the same if its change is shown to be smaller.  [default: twice --threshold]",
)
@scatter
@click.option(
    "--fail-on",
    multiple=True,
    metavar="FINDINGS",
    callback=clicked(findings_among(FINDINGS)),
    help="Exit with 1 on any of these: regressed, improved, missing (worked in BASE and fails in "
    "NEW); or none. Exit with 3 if the runs cannot decide.  [default: regressed,missing]",
)
@report_outputs("suite compare")
@overwrite
@debug
@click.pass_context
def compare(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Compare two runs of a suite, BASE (A) and NEW (B), bench by bench: the ratio of their
    performances, its interval, and a verdict; with what is not comparable, and why.

    Exit codes: 0 nothing found, 1 a bench regressed or no longer works (--fail-on), 2 a file that
    cannot be read, 3 it cannot be decided: run each side several times."""
    from opperf.suite_results.commands import compare_command

    ctx.exit(compare_command(options))
