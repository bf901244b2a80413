"""Draws run files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opperf.errors import UsageError
from opperf.requests.declaring import COMPARISON, OUTPUT, Option, Request, Say
from opperf.requests.fields import count_option, dimensions_option
from opperf.requests.outputs import Overwrite, RunFiles, file_option
from opperf.requests.parsers import split_commas

if TYPE_CHECKING:
    from opperf.results.plots.bars import BarPlot
    from opperf.results.plots.data import Plot


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
        Option(
            "--metric",
            "Metrics to draw, e.g. forward,backward,memory, or bandwidth: bytes moved over the "
            "forward time.  [default: forward, and bandwidth if the bytes are known]",
            gather=split_commas,
            metavar="NAMES",
            section=COMPARISON,
        ),
    ] = ()
    x: Annotated[
        str | None,
        Option(
            "--x",
            "Swept variable along the axis, or elements, those of the largest tensor, or threads, "
            "or operator, whose bars are below each other.  [default: the variable with the most "
            "values; operator without a sweep]",
            metavar="SIZE",
            section=COMPARISON,
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
        count_option("--top", "Most rows of bars, the largest.  [default: 120]", OUTPUT),
    ] = None

    def run(self, say: Say) -> Plot | BarPlot:
        """Returns the chart, and writes it if there is an output. Raises `OpperfError` for files
        that cannot be drawn, and for an output that cannot be written."""
        # Help and completion do without the imports.
        from opperf.extras import check_extras
        from opperf.results.output import replace
        from opperf.results.plots.bars import MOST_ROWS, make_bars
        from opperf.results.plots.data import has_sizes, make_plot
        from opperf.results.plots.drawing import check_image, draw, read_drawn, sources_of
        from opperf.results.projection import OPERATOR

        suffix = check_image(self.output_file, self.files, self.overwrite)
        runs = [read_drawn(path, say) for path in self.files]
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
