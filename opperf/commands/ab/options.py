"""Options of each command that measures two arms interleaved."""

from __future__ import annotations

import click

from opperf.comparison.statistics.design import FEWEST_BLOCKS
from opperf.defaults import CASE_TIME_S, LONGEST_VISIT_S, SHORTEST_VISIT_S

case_time = click.option(
    "--case-time",
    "max_time_s",
    default=CASE_TIME_S,
    show_default=f"{CASE_TIME_S:g}; after the first look {SHORTEST_VISIT_S:g} to "
    f"{LONGEST_VISIT_S:g}, as a case's scatter deserves",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time that a worker spends on a case, shared among its passes.",
)

no_pace = click.option(
    "--no-pace",
    is_flag=True,
    help="Do not time reference work between the calls, which corrects for changes of the core's "
    "speed.",
)

BLOCKS = click.IntRange(min=FEWEST_BLOCKS)
