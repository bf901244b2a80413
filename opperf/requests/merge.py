"""Joins run files into one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opperf.errors import UsageError
from opperf.requests.declaring import OUTPUT, Option, Request, Say
from opperf.requests.outputs import Overwrite, RunFiles

if TYPE_CHECKING:
    from opperf.model import Run


class MergeRequest(Request, frozen=True, kw_only=True):
    """Joins run files, as those of the parts of one run, into one, each case once."""

    paths: RunFiles
    output: Annotated[
        Path,
        Option("-o --output-file", "The run file of all.", Path, metavar="FILE", section=OUTPUT),
    ]
    overwrite: Overwrite = False

    def run(self, say: Say) -> Run:
        """Writes the file and returns its content. Raises `OpperfError` for files that cannot be
        joined, and for an output that cannot be written."""
        # Help and completion do without the imports.
        from opperf.reports.writing import runfile_text
        from opperf.results.merging import Part, copy_streams, merge_parts
        from opperf.results.output import check_output, replace
        from opperf.results.runfile import read_visits

        for path in self.paths:
            if path.resolve() == self.output.resolve():
                raise UsageError(f"{path} is also the output; name another file with -o")
        check_output(self.output, self.overwrite, self.paths)
        parts = []
        for path in dict.fromkeys(self.paths):
            run, doubts = read_visits(path)
            parts.append(Part(path, run))
            for doubt in doubts:
                say(f"warning: {doubt}")
        merged, warnings = merge_parts(parts)
        for warning in warnings:
            say(f"warning: {warning}")
        replace(self.output, runfile_text(merged).encode())
        copy_streams(parts, merged, self.output)
        return merged
