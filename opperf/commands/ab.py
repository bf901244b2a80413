"""The command `ab`: its arguments and options."""

from __future__ import annotations

from pathlib import Path

import click

from opperf.commands.compare import share_given, words_among
from opperf.model import DECLARED
from opperf.parameters import (
    changed,
    common,
    configurations,
    debug,
    framework,
    operators,
    passes,
    report_format,
    size,
)

FORMATS = ("text", "md", "json")
LOOKED_FOR = ("regressed", "improved", "ambiguous")

BLOCKS = click.IntRange(min=2)
"""One block has no scatter, and so no confidence interval."""

ASSIGNED = ", ".join(
    f"{name}:" for name, one in DECLARED.items() if one.axis and name not in ("env", "python")
)
"""Settings that an arm can assign like the options of `run`."""


@click.command()
@operators
@click.option(
    "--a",
    multiple=True,
    metavar="KIND:VALUE",
    help="An assignment of A, in addition to the options of both arms; may be repeated. "
    "env:NAME=VALUE, python:INTERPRETER (of another environment, with the framework in it), "
    f"ops:NAME (compared with the other arm's ops:NAME), and {ASSIGNED} with the values of the "
    "options of `opperf run`.  [default: none]",
)
@click.option(
    "--b",
    multiple=True,
    metavar="KIND:VALUE",
    help="The same for B.",
)
@size
@common
@passes
@configurations
@click.option(
    "--threshold",
    default="2%",
    show_default=True,
    metavar="SHARE",
    callback=share_given,
    help="Smallest change of interest.",
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
    help="Fresh blocks of the cases that seem to differ in the screen.",
)
@click.option(
    "--until-settled",
    is_flag=False,
    flag_value=0,
    default=None,
    type=click.IntRange(min=0),
    metavar="[CAP]",
    help="Measure more blocks of ambiguous cases, up to this number of confirm blocks of a case.  "
    "[default: 4 times --confirm-blocks]",
)
@click.option(
    "--case-time",
    "max_time_s",
    default=0.15,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time of a case in each process, shared among its passes.",
)
@click.option(
    "--no-pace",
    is_flag=True,
    help="Do not time reference work between the calls, by which results are adjusted for the "
    "core's speed.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Refuse a session that would take longer, and print what would fit.",
)
@click.option(
    "--report",
    default="opperf_ab.jsonl",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of all measurements; `opperf compare --from-ab FILE` makes the verdicts from it "
    "again.",
)
@click.option("--resume", is_flag=True, help="Continue the session in that file.")
@click.option("--overwrite", is_flag=True, help="Replace that file if it exists.")
@report_format(FORMATS)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="VERDICTS",
    callback=words_among(lambda: LOOKED_FOR),
    help="Verdicts to exit on: with 1 for regressed or improved, with 3 for ambiguous.  [default: "
    "regressed]",
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
    """Measure A against B, interleaved in fresh processes, and report which operators regressed,
    improved, are the same, or are ambiguous.

    A is measured against itself first; if it differs from itself, the session is invalid (exit code
    3). Then every case is screened, and cases that seem to differ are confirmed in fresh processes.
    The exit code is 1 if an operator regressed, and 3 if no case could be decided.
    """
    from opperf.compare.ab.command import ab_command

    ctx.exit(ab_command(options, changed(ctx, options)))
