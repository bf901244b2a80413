"""Compares the nodes of a cluster."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from opperf.requests.declaring import COMPARISON, ENDING, Option, Request, Say
from opperf.requests.outputs import (
    Overwrite,
    ReportFile,
    RunFile,
    format_option,
    output_of,
)
from opperf.requests.parsers import split_commas
from opperf.results.output import STDOUT, Output
from opperf.shares import read_share

if TYPE_CHECKING:
    from opperf.comparison.nodes.comparing import NodeComparison


class NodesRequest(Request, frozen=True, kw_only=True):
    """Compares the nodes of each kind by the same cases on each."""

    path: RunFile
    metrics: Annotated[
        tuple[str, ...],
        Option(
            "--metric",
            "Metrics to compare, e.g. forward.  [default: all that vary from run to run]",
            gather=split_commas,
            metavar="NAMES",
            section=COMPARISON,
        ),
    ] = ()
    threshold: Annotated[
        float,
        Option(
            "--threshold",
            "Smallest difference of interest.  [default: 2%]",
            read_share,
            metavar="SHARE",
            section=COMPARISON,
        ),
    ] = 0.02
    strict: Annotated[
        bool, Option("--strict", "Exit with 1 if a node differs.", section=ENDING)
    ] = False
    output_file: ReportFile = STDOUT
    output_format: Annotated[str, format_option("nodes")] = ""
    overwrite: Overwrite = False

    @property
    def output(self) -> Output:
        """The file and its format. Raises `UsageError` for an extension of none."""
        return output_of(self.output_file, self.output_format, "nodes")

    @property
    def margin(self) -> float:
        """The smallest difference of interest, in log units."""
        return math.log1p(self.threshold)

    def run(self, say: Say) -> NodeComparison:
        """Returns the comparison. Raises `OpperfError`, also for an output that could not be
        written."""
        # Help and completion do without the imports.
        from opperf.comparison.nodes.comparing import compare_nodes
        from opperf.results.output import check_output
        from opperf.results.runfile import read_run

        check_output(self.output.path, self.overwrite, [self.path])
        run, warnings = read_run(self.path)
        for warning in warnings:
            say(f"warning: {warning}")
        return compare_nodes(run, self.margin, self.metrics)
