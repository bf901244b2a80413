"""Joins, ranks, draws and converts run files, and compares their nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from opperf.errors import FOUND, RunFileError, UsageError
from opperf.extras import check_extras, load_extra
from opperf.reports.formats import DRAWN, RUN, built_in_names, format_named, formats_of
from opperf.requests.declaring import Option, Request, Say, told, warn
from opperf.requests.judging import Comparisons, Judged
from opperf.requests.operators import Columns, dimensions_option, names_option
from opperf.requests.outputs import (
    Overwrite,
    ReportedRequest,
    RunFile,
    RunFiles,
    file_option,
    format_option,
    output_of,
    read_format,
)
from opperf.requests.parsers import parse_factors
from opperf.results.kept import display, streams_of
from opperf.results.output import STDOUT, Output, check_output, replace
from opperf.results.projection import OVERLOAD
from opperf.results.runfile import read_run, read_visits
from opperf.shares import read_share

if TYPE_CHECKING:
    from opperf.model import Run
    from opperf.reports.model import Drawing, Report
    from opperf.results.plots.bars import BarPlot
    from opperf.results.plots.data import Plot


class MergeRequest(Request, frozen=True, kw_only=True):
    """Joins run files, as those of the parts of one run, into one, each case once."""

    paths: RunFiles
    output: Annotated[
        Path, Option("The run file of all.", section="Output", spellings="-o --output-file")
    ]
    overwrite: Overwrite = False

    def run(self, say: Say) -> Run:
        """Writes the file and returns its content."""
        from opperf.reports.writing import runfile_text
        from opperf.results.merging import Part, copy_streams, merge_parts

        for path in self.paths:
            if path.resolve() == self.output.resolve():
                raise UsageError(f"{path} is also the output; name another file with -o")
        check_output(self.output, self.overwrite, self.paths)
        parts = []
        for path in dict.fromkeys(self.paths):
            parts.append(Part(path, told(read_visits(path), say)))
        merged = told(merge_parts(parts), say)
        replace(self.output, runfile_text(merged).encode())
        copy_streams(parts, merged, self.output)
        return merged


INTENSITY = "intensity"
"""The axis of a roofline plot."""

PAGE = "html"
"""The format that has every case."""


class ReportRequest(ReportedRequest, frozen=True, kw_only=True):
    """Ranks the operators of run files by the time of all their calls."""

    section: ClassVar[str] = "Comparison"

    reported = DRAWN
    output_format: Annotated[str, format_option(DRAWN)] = ""
    files: RunFiles
    rank: Annotated[
        Literal["time", "recorded", "calls", "memory", "headroom"],
        Option(
            "What comes first: the most time of all calls, the most time that they took in a "
            "recorded program, the most calls, the largest peak of memory, or the most time that "
            "could go by the machine's peaks (`opperf doctor --peaks`)."
        ),
    ] = "time"
    by: Annotated[
        tuple[str, ...],
        dimensions_option("Rank the values", "  [default: overload, as other tables]"),
    ] = ("overload",)
    top: Annotated[
        int | None,
        Option("Number of operators to show.  [default: 20; all in json and csv]", low=1),
    ] = None
    tree: Annotated[
        bool,
        Option(
            "Show the modules of a recorded program as a tree, in place of the ranking; html and "
            "json have both."
        ),
    ] = False
    what_if: Annotated[
        dict[str, float],
        Option(
            "Show the program's time if all calls of the operator took FACTOR of their time, e.g. "
            "addmm=0.5 for half. Repeat it for several.",
            gather=parse_factors,
            metavar="OPERATOR=FACTOR",
        ),
    ] = {}
    scripts: Annotated[
        bool,
        Option(
            "In a page (-o FILE.html), the script of each case too, which its framework makes.",
            section="Output",
        ),
    ] = False

    def run(self, say: Say) -> Report:
        from opperf.execution.workers import scripts_of
        from opperf.reports.hotspots.data import find_hotspots
        from opperf.reports.hotspots.headroom import check_headroom
        from opperf.reports.hotspots.ranking_report import recording_of, report_of
        from opperf.reports.hotspots.reading import on_pages_only, read_ranked
        from opperf.reports.model import RunOnPage

        if self.scripts and PAGE not in {output.format for output in self.outputs}:
            raise UsageError("--scripts is for a page; name one with -o FILE.html")
        self.check_outputs(self.files)
        runs = read_ranked(self.files, say)
        names = [display(path) for path in self.files]
        found = find_hotspots(runs, self.rank, self.by, names)
        if self.rank == "headroom":
            check_headroom(found.headroom, runs)
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


class PlotRequest(Request, frozen=True, kw_only=True):
    """Draws the results of run files, as text or as an image."""

    files: RunFiles
    output_file: Annotated[
        Path | None,
        file_option(
            "Image or page to write: .png, .svg or .html.  [default: a chart in the terminal]"
        ),
    ] = None
    overwrite: Overwrite = False
    metrics: Annotated[
        tuple[str, ...],
        names_option(
            "Metrics to draw, e.g. forward,backward,memory, or bandwidth: bytes moved over the "
            "forward time.  [default: forward, and bandwidth if the bytes are known]",
            section="Comparison",
            spellings="--metric",
        ),
    ] = ()
    x: Annotated[
        str | None,
        Option(
            "Swept variable along the axis, or elements, those of the largest tensor, or threads, "
            "or operator, whose bars are below each other, or intensity, for a roofline by the "
            "machine's peaks.  [default: the variable with the most values; operator without a "
            "sweep]",
            metavar="SIZE",
            section="Comparison",
        ),
    ] = None
    by: Annotated[
        tuple[str, ...],
        dimensions_option(
            "Draw a line, or a bar, for each value",
            "  Those that differ but are not named get a chart each.  [default: all that differ]",
        ),
    ] = ()
    top: Annotated[
        int | None,
        Option("Most rows of bars, the largest.  [default: 120]", low=1, section="Output"),
    ] = None

    def run(self, say: Say) -> Plot | BarPlot | Drawing:
        """Returns the chart, and writes it if there is an output."""
        from opperf.results.plots.bars import MOST_ROWS, make_bars
        from opperf.results.plots.data import has_sizes, make_plot
        from opperf.results.plots.drawing import check_image, draw, read_drawn, sources_of
        from opperf.results.projection import OPERATOR

        suffix = check_image(self.output_file, self.files, self.overwrite)
        runs = [read_drawn(path, say) for path in self.files]
        if self.x == INTENSITY:
            return self._write_roofline(runs, suffix)
        sources = sources_of(self.files, runs)
        metrics = tuple(word.lower() for word in self.metrics)
        plot: Plot | BarPlot
        if self.x == OPERATOR or (self.x is None and not has_sizes(sources)):
            plot = make_bars(sources, metrics, self.by, self.top or MOST_ROWS)
        elif self.top is not None:
            raise UsageError("--top limits the rows of bars, and these are lines; use --x operator")
        else:
            plot = make_plot(sources, metrics, self.x, self.by)
        for note in plot.notes:
            say(note)
        if self.output_file is not None:
            check_extras("a plot", "altair", "vl_convert")
            replace(self.output_file, draw(plot, runs, sources, suffix))
        return plot

    def _write_roofline(self, runs: Sequence[Run], suffix: str) -> Drawing:
        from opperf.reports.hotspots.data import find_hotspots
        from opperf.reports.hotspots.headroom import check_headroom
        from opperf.reports.hotspots.roofline_plot import roofline_plot
        from opperf.reports.html import page_of, svg_of

        if self.output_file is None:
            raise UsageError(f"--x {INTENSITY} is an image; name one with -o roofline.svg")
        if self.metrics or self.top:
            raise UsageError(f"--x {INTENSITY} takes neither --metric nor --top")
        found = find_hotspots(runs, by=self.by or (OVERLOAD,), files=list(map(display, self.files)))
        check_headroom(found.headroom, runs)
        drawing = roofline_plot(found)
        if drawing is None:
            raise UsageError(f"--x {INTENSITY}: no time has known operations and bytes")
        if suffix == ".png":
            image = load_extra("vl_convert").svg_to_png(svg_of(drawing), scale=2)
        else:
            image = (svg_of if suffix == ".svg" else page_of)(drawing).encode()
        replace(self.output_file, image)
        return drawing


class ExportRequest(Request, frozen=True, kw_only=True):
    """Writes a run file in the format of another tool, or as a page."""

    run_file: RunFile
    tool: Annotated[
        str,
        Option(
            "pytest-benchmark; bencher, which reads it with --adapter json; "
            "github-action-benchmark, which reads it as customSmallerIsBetter; hyperfine; "
            "perfetto, for ui.perfetto.dev; md, a page; or another format of `opperf run`.",
            read_format(RUN),
            metavar="FORMAT",
            choices=built_in_names(RUN),
            section="Output",
            spellings="--to",
        ),
    ]
    output_file: Annotated[Path, file_option("Write to this file; - prints.")] = STDOUT
    overwrite: Overwrite = False
    columns: Columns = ()

    @property
    def output(self) -> Output:
        """The file and its format. Raises `UsageError` for an extension of another."""
        output_of(self.output_file, "", RUN)
        path, extensions = self.output_file, format_named(self.tool, RUN).extensions
        if path.suffix and path.suffix.lower() not in extensions:
            raise UsageError(
                f"{path}: --to {self.tool} writes {extensions[0]}; name such a file with -o"
            )
        return Output(path, self.tool)

    def run(self, say: Say) -> None:
        from opperf.reports.writing import check_exported, write

        format, output, path = format_named(self.tool, RUN), self.output.path, self.run_file
        if self.columns and not format.has_columns:
            having = ", ".join(name for name, one in formats_of(RUN).items() if one.has_columns)
            raise UsageError(f"--columns is for --to {having}; {self.tool} has no columns")
        if format.folder is None or not output.is_dir():
            check_output(output, self.overwrite, [path])
        run, warnings = read_run(path)
        check_exported(path, run)
        try:
            missing = write(run, output, self.tool, self.columns, streams_of(path))
        except RunFileError as error:
            raise RunFileError(f"{path}: {error}") from error
        warn(say, (*warnings, *(f"{path}: {what}" for what in missing)))


class NodesRequest(ReportedRequest, frozen=True, kw_only=True):
    """Compares the nodes of each kind by the same cases on each."""

    path: RunFile
    metrics: Annotated[
        tuple[str, ...],
        names_option(
            "Metrics to compare, e.g. forward.  [default: all that vary from run to run]",
            section="Comparison",
            spellings="--metric",
        ),
    ] = ()
    threshold: Annotated[
        float,
        Option(
            "Smallest difference of interest.  [default: 2%]",
            read_share,
            metavar="SHARE",
            section="Comparison",
        ),
    ] = 0.02
    strict: Annotated[
        bool, Option("Exit with 1 if a node differs.", section="Plan, resumption and exit code")
    ] = False

    def run(self, say: Say) -> Judged[Comparisons]:
        from opperf.comparison.nodes import CHANGED, compare_nodes, telling_of
        from opperf.comparison.report import report_of

        self.check_outputs([self.path])
        fail_on = CHANGED if self.strict else ()
        found = compare_nodes(told(read_run(self.path), say), self.threshold, self.metrics, fail_on)
        report = report_of(found, telling_of(found, display(self.path)))
        differs = any(row.findings(fail_on) for row in found.rows)
        return Judged({found.labels: found}, report, FOUND if differs else 0, "")
