"""The command `export`."""

from __future__ import annotations

from opperf.commands.options import command
from opperf.requests.export import ExportRequest
from opperf.results.messages import tell
from opperf.results.output import STDOUT


@command(ExportRequest)
def export(request: ExportRequest) -> int:
    """Write a run file (-f jsonl, or @last and others of `opperf runs`) in the format of another
    benchmark tool, or as a page in HTML or Markdown."""
    request.run(tell)
    if request.output_file != STDOUT:
        tell(f"written to {request.output_file}")
    return 0
