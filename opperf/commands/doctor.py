"""The command `doctor`: its options."""

from __future__ import annotations

import click

from opperf.commands.command import command
from opperf.parameters import as_json, debug, explicit_options, framework

LONGEST_S = 600
"""Limit on the jitter test: what does not occur in ten minutes is too rare to disturb a run."""


@command()
@click.option(
    "--seconds",
    default=5.0,
    show_default=True,
    type=click.FloatRange(0, LONGEST_S),
    metavar="SECONDS",
    help="Duration of the jitter test, which keeps one core busy; 0 skips it.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there is any warning.")
@as_json
@debug
@framework
@click.pass_context
def doctor(ctx: click.Context, /, **options: object) -> None:
    """Report what makes timings noisy on this machine, why, and the command that fixes it."""
    from opperf.runner.doctor import doctor_command

    ctx.exit(doctor_command(options, explicit_options(ctx, options)))
