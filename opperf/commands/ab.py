"""The command `ab`: its arguments and options."""

from __future__ import annotations

from pathlib import Path

import click

from opperf.commands.compare import read_share, read_words_among
from opperf.parameters import (
    debug,
    explicit_options,
    framework,
    max_configs,
    no_backward,
    operator_options,
    report_format,
    setting_option,
    size,
)

FORMATS = ("text", "md", "json")
FINDINGS = ("regressed", "improved", "ambiguous")

BLOCKS = click.IntRange(min=2)
"""One block has no scatter, and says nothing of how sure it is."""


@click.command()
@operator_options
@click.option(
    "--a",
    multiple=True,
    metavar="KIND:VALUE",
    help="What is set in A, beside what both have in common; may be given several times. "
    "env:NAME=VALUE, python:INTERPRETER (of another environment, which has the framework), "
    "ops:NAME (compared with the other arm's ops:NAME), dtype:, profiler:, threads:N, "
    "cache:hot or cold, device:.  [default: nothing, as things are]",
)
@click.option(
    "--b",
    multiple=True,
    metavar="KIND:VALUE",
    help="What is set in B, likewise.",
)
@size
@setting_option("dtype", default="float32", show_default=False)
@setting_option("device")
@setting_option("profiler")
@no_backward
@max_configs
@click.option(
    "--threshold",
    default="2%",
    show_default=True,
    metavar="SHARE",
    callback=read_share,
    help="Smallest change that is of interest.",
)
@click.option(
    "--control-blocks",
    default=4,
    show_default=True,
    type=BLOCKS,
    help="Blocks of four processes in which A is measured against itself.",
)
@click.option(
    "--screen-blocks",
    default=6,
    show_default=True,
    type=BLOCKS,
    help="Blocks of A and B in which every case is measured.",
)
@click.option(
    "--confirm-blocks",
    default=12,
    show_default=True,
    type=BLOCKS,
    help="Fresh blocks of those that the screen finds to differ.",
)
@click.option(
    "--until-settled",
    is_flag=False,
    flag_value=0,
    default=None,
    type=click.IntRange(min=0),
    metavar="[CAP]",
    help="Measure on what is ambiguous, until nothing is or a case has had as many confirm blocks "
    "as this.  [default: 4 times --confirm-blocks]",
)
@click.option(
    "--case-time",
    "max_time_s",
    default=0.15,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time that a process takes for a case, shared among its passes.",
)
@click.option(
    "--no-pace",
    is_flag=True,
    help="Do not time fixed work between the calls, which tells how fast the core was just then, "
    "so that it can be taken off.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Refuse a session that would take longer, and say what would fit.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seed of the inputs' contents and of all orders.",
)
@click.option(
    "--report",
    default="opperf_ab.jsonl",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where everything that is measured is kept; `opperf compare --from-ab FILE` makes the "
    "verdicts from it again.",
)
@click.option("--resume", is_flag=True, help="Go on with the session in that file.")
@click.option("--overwrite", is_flag=True, help="Replace that file if it exists.")
@report_format(FORMATS)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="VERDICTS",
    callback=read_words_among(lambda: FINDINGS),
    help="Exit with 1 if something regressed or improved, with 3 if something is ambiguous, as "
    "far as named here.  [default: regressed]",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the arms, the cases and how long it would take, and measure nothing.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but the verdicts and errors.")
@debug
@framework
@click.pass_context
def ab(ctx: click.Context, /, **options: object) -> None:
    """Measure A against B, interleaved in fresh processes, and say which operators became slower
    and faster, which are the same, and which it cannot tell.

    A is measured against itself first; a machine on which it differs from itself makes the
    session invalid (exit code 3). Then every case is screened, and what seems to differ is
    confirmed in fresh processes. The exit code is 1 if an operator regressed, and 3 if nothing at
    all could be decided.
    """
    from opperf.compare.ab.command import ab_command

    ctx.exit(ab_command(options, explicit_options(ctx, options)))
