"""The command `nodes`."""

from __future__ import annotations

from opperf.commands.options import command
from opperf.errors import FOUND
from opperf.requests.nodes import NodesRequest
from opperf.results.messages import tell


@command(
    NodesRequest,
    examples={
        "Which node differs": (
            "opperf run --executor ray --address auto --every-node -o nodes.jsonl\n"
            "opperf nodes nodes.jsonl"
        ),
    },
)
def nodes(request: NodesRequest) -> int:
    """Compare the nodes of a cluster, those of one kind, by the same cases on each: RUNFILE is that
    of `opperf run --executor ray --every-node`. Each node's figures are compared with the median of
    the others', by the scatter among nodes; a node that differs is listed with by how much, and
    with the case in which most."""
    from opperf.comparison.nodes.report import report_of
    from opperf.reports.writing import write_reports
    from opperf.results.kept import display

    compared = request.run(tell)
    write_reports(report_of(compared, display(request.path), request.margin), [request.output])
    return FOUND if request.strict and compared.differing else 0
