"""The command `nodes`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.parameters import debug, names_option, report_output
from opperf.parsing import KeptPath, parse_share


@command(
    examples={
        "Which node differs": (
            "opperf run --executor ray --address auto --every-node -o nodes.jsonl\n"
            "opperf nodes nodes.jsonl"
        ),
    }
)
@click.argument("path", metavar="RUNFILE", type=KeptPath())
@names_option(
    "--metric",
    "metrics",
    help="Metrics to compare, e.g. forward.  [default: all that vary from run to run]",
)
@click.option(
    "--threshold",
    default="2%",
    show_default=True,
    metavar="SHARE",
    callback=parse_share,
    help="Smallest difference of interest.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if a node differs.")
@report_output("nodes")
@debug
@click.pass_context
def nodes(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Compare the nodes of a cluster, those of one kind, by the same cases on each: RUNFILE is that
    of `opperf run --executor ray --every-node`. Each node's figures are compared with the median of
    the others', by the scatter among nodes; a node that differs is listed with by how much, and
    with the case in which most."""
    ctx.exit(_nodes(**options))


def _nodes(
    path: Path,
    metrics: tuple[str, ...],
    threshold: float,
    strict: bool,
    output_file: Path,
    output_format: str,
    overwrite: bool,
) -> int:
    # Help and completion do without the imports.
    import math

    from opperf.comparison.nodes.comparing import compare_nodes
    from opperf.comparison.nodes.report import report_of
    from opperf.errors import FOUND
    from opperf.reports.writing import write_reports
    from opperf.results.kept import display
    from opperf.results.messages import tell
    from opperf.results.output import Output, check_output
    from opperf.results.runfile import read_run

    output = Output(output_file, output_format)
    check_output(output.path, overwrite, [path])
    run, warnings = read_run(path)
    for warning in warnings:
        tell(f"warning: {warning}")
    margin = math.log1p(threshold)
    compared = compare_nodes(run, margin, metrics)
    write_reports(report_of(compared, display(path), margin), [output])
    return FOUND if strict and compared.differing else 0
