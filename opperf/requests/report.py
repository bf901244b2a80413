"""Ranks the operators of run files."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Literal

from opperf.errors import UsageError
from opperf.requests.declaring import COMPARISON, OUTPUT, Option, Request, Say
from opperf.requests.fields import count_option, dimensions_option
from opperf.requests.outputs import (
    Overwrite,
    ReportFile,
    RunFiles,
    format_option,
    output_of,
)
from opperf.requests.parsers import parse_factors
from opperf.results.output import STDOUT, Output

if TYPE_CHECKING:
    from opperf.reports.model import Report

PAGE = "html"
"""The format that has every case."""


class ReportRequest(Request, frozen=True, kw_only=True):
    """Ranks the operators of run files by the time of all their calls."""

    files: RunFiles
    rank: Annotated[
        Literal["time", "recorded", "calls", "memory"],
        Option(
            "--rank",
            "What comes first: the most time of all calls, the most time that they took in a "
            "recorded program, the most calls, or the largest peak of memory.",
            section=COMPARISON,
        ),
    ] = "time"
    by: Annotated[
        tuple[str, ...],
        dimensions_option("Rank the values", "  [default: overload, as other tables]"),
    ] = ("overload",)
    top: Annotated[
        int | None,
        count_option(
            "--top", "Number of operators to show.  [default: 20; all in json and csv]", COMPARISON
        ),
    ] = None
    tree: Annotated[
        bool,
        Option(
            "--tree",
            "Show the modules of a recorded program as a tree, in place of the ranking; html and "
            "json have both.",
            section=COMPARISON,
        ),
    ] = False
    what_if: Annotated[
        dict[str, float],
        Option(
            "--what-if",
            "Show the program's time if all calls of the operator took FACTOR of their time, e.g. "
            "addmm=0.5 for half. Repeat it for several.",
            gather=parse_factors,
            metavar="OPERATOR=FACTOR",
            section=COMPARISON,
        ),
    ] = {}
    scripts: Annotated[
        bool,
        Option(
            "--scripts",
            "In a page (-o FILE.html), the script of each case too, which its framework makes.",
            section=OUTPUT,
        ),
    ] = False
    output_file: ReportFile = STDOUT
    output_format: Annotated[str, format_option("report")] = ""
    overwrite: Overwrite = False

    @property
    def output(self) -> Output:
        """The file and its format. Raises `UsageError` for an extension of none."""
        return output_of(self.output_file, self.output_format, "report")

    def run(self, say: Say) -> Report:
        """Returns the ranking. Raises `OpperfError`, also for an output that could not be
        written."""
        # Help and completion do without the imports.
        from opperf.execution.scripts import scripts_of
        from opperf.reports.hotspots.data import find_hotspots
        from opperf.reports.hotspots.ranking_report import recording_of, report_of
        from opperf.reports.hotspots.reading import on_pages_only, read_ranked
        from opperf.reports.model import RunOnPage
        from opperf.results.kept import display
        from opperf.results.output import check_output

        if self.scripts and self.output.format != PAGE:
            raise UsageError("--scripts is for a page; name one with -o FILE.html")
        check_output(self.output.path, self.overwrite, self.files)
        runs = read_ranked(self.files, say)
        names = [display(path) for path in self.files]
        found = find_hotspots(runs, self.rank, self.by, names)
        recording = recording_of(found, runs, self.what_if)
        if self.tree and recording.tree is None:
            raise UsageError(
                "--tree needs the places of calls, and the files have none; `opperf record` keeps "
                "them"
            )
        report = report_of(found, self.top, recording, self.tree)
        shown = tuple(
            RunOnPage(
                name, run, scripts_of(run.cases, run.header.interpreters) if self.scripts else {}
            )
            for name, run in zip(names, runs, strict=True)
        )
        sections = [*report.sections, *on_pages_only(shown)]
        return dataclasses.replace(report, runs=shown, sections=sections)
