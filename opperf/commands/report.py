"""The command `report`."""

from __future__ import annotations

from opperf.commands.options import command
from opperf.requests.report import ReportRequest
from opperf.results.messages import tell


@command(ReportRequest)
def report(request: ReportRequest) -> int:
    """Rank the operators of run files by the time of all their calls: how often a
    recording or another source saw each case, times the median time of its forward pass and, where
    measured, of its backward pass. Several files are added up.

    A file is one of `opperf run -f jsonl`, or @last, @-2 or @ID, as `opperf runs` lists them. It
    may be a recording: its calls are ranked by their times in the program, or by their number, and
    shown with where they were made and how much of the program's time they explain. -o FILE.svg
    draws a flame graph, -o FILE.html a page of everything."""
    from opperf.reports.writing import write_reports

    write_reports(request.run(tell), [request.output])
    return 0
