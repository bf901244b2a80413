"""The command `doctor`: its options."""

from __future__ import annotations

import click

from opperf.parameters import as_json, debug, explicit_options, framework

LONGEST_S = 600
"""Longest test of jitter: what ten minutes do not show comes too seldom for a run to meet."""


@click.command()
@click.option(
    "--seconds",
    default=5.0,
    show_default=True,
    type=click.FloatRange(0, LONGEST_S),
    help="How long a core is kept busy to measure how evenly it works; 0 leaves that out.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there is any warning.")
@as_json
@debug
@framework
@click.pass_context
def doctor(ctx: click.Context, /, **options: object) -> None:
    """Tell what makes timings noisy on this machine, why, and the command that mends it."""
    from opperf.runner.health.command import doctor_command

    ctx.exit(doctor_command(options, explicit_options(ctx, options)))
