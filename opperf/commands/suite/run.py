"""The command `suite run`: its arguments and options."""

from __future__ import annotations

import click

from opperf.commands.command import command
from opperf.commands.options import group_options
from opperf.parameters import (
    case_ids,
    combine,
    count_option,
    cpus,
    debug,
    explicit_options,
    labels,
    output_format,
    output_options,
    setting_options,
)
from opperf.reports.formats import RUN
from opperf.requests.operators import Partition
from opperf.requests.places import Cluster, Environments
from opperf.requests.resuming import Resumption
from opperf.requests.suites.files import SuiteFiles

bench_options = combine(
    group_options(SuiteFiles),
    group_options(Environments),
    click.option(
        "--use-current-env",
        is_flag=True,
        help="Run all benches in opperf's own environment, and install none.",
    ),
    count_option("--repeat", default=1, show_default=True, help="Runs of each bench, in rounds."),
    setting_options("warmup", "seed"),
)
"""Benches that are run, and how often."""

measuring_options = combine(
    cpus,
    click.option(
        "--executor",
        default="local",
        show_default=True,
        metavar="NAME",
        help="What measures the benches: local, isolated, ray, or another package's.",
    ),
    group_options(Cluster),
    setting_options("node"),
    labels,
    click.option("--list", "list_only", is_flag=True, help="Print the cases, and measure nothing."),
    click.option("--dry-run", is_flag=True, help="Check all, and measure nothing."),
)
"""Where it is run."""


@command(
    examples={
        "A first look at a machine": "opperf suite run standard -o standard.jsonl",
        "Some benches of a file, twice each": (
            "opperf suite run suite.yaml --select vision,nlp --repeat 2 -o suite.jsonl"
        ),
        "Another run against it": "opperf suite compare standard.jsonl other.jsonl",
    }
)
@bench_options
@output_format(
    "--output-format",
    RUN,
    "jsonl, the run file with every sample; milabench, a folder in its layout; json; md; csv; or "
    "another package's.",
    default="jsonl",
)
@output_options(
    "Output file; - prints the output, and messages go to standard error.  "
    "[default: ./suite.<format>]",
    RUN,
)
@measuring_options
@group_options(Resumption)
@case_ids
@group_options(Partition)
@debug
@click.pass_context
def run(ctx: click.Context, /, **options: object) -> None:
    """Run the benches of suite files: programs, operators, models, recordings and snippets.

    `standard` is the suite that comes with opperf. Benches that are not enabled are run where
    --select names them. A bench that cannot be installed, planned or run costs itself, and what it
    lacks is in the report. `suite validate`, `suite report` and `suite compare` read the run file.

    Exit codes: 0 all benches ran and are valid, 1 a bench failed, 2 a file that does not resolve,
    130 interrupted."""
    from opperf.commands.suite.running import run_suite

    ctx.exit(run_suite(options, explicit_options(ctx, options)))
