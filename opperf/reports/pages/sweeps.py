"""The sweeps of runs as charts of a page."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.plurals import pluralize
from opperf.reports.model import RunOnPage
from opperf.reports.pages.content import Chart, DataLine
from opperf.results.plots.data import Line, Panel, Plot, has_sizes, make_plot
from opperf.results.projection import Source

MOST_LINES = 12
"""Most lines of a chart, the largest: more colours cannot be told apart."""

MOST_CHARTS = 60
"""Most charts of a page; the table has all points."""


def charts_of(runs: Sequence[RunOnPage]) -> tuple[Chart, ...]:
    """Returns a chart for each metric of the lines that share a panel; none without a sweep."""
    sources = [
        Source(
            own.name,
            [record for record in own.run.records if record.case.point],
            own.run.header.labels,
        )
        for own in runs
    ]
    sources = [source for source in sources if any(found.summaries for found in source.records)]
    if not sources or not has_sizes(sources):
        return ()
    plot = make_plot(sources)
    return tuple(_chart(plot, panel) for panel in plot.panels[:MOST_CHARTS])


def _chart(plot: Plot, panel: Panel) -> Chart:
    # In the order of the panel, so that a line has its colour in every chart.
    largest = sorted(panel.lines, key=lambda line: -max(point.y for point in line.points))
    drawn = set(map(id, largest[:MOST_LINES]))
    lines = [line for line in panel.lines if id(line) in drawn]
    left = len(panel.lines) - len(lines)
    more = f" (without {pluralize(left, 'smaller line')})" if left else ""
    return Chart(
        title=(panel.title or panel.metric.title) + more,
        x_title=plot.x_title,
        y_title=panel.metric.title,
        unit=panel.unit.name,
        x_is_log=plot.x_is_log,
        y_is_log=panel.is_log,
        lines=tuple(map(_line, lines)),
    )


def _line(line: Line) -> DataLine:
    points = sorted(line.points)
    return DataLine(
        line.name,
        tuple((point.x, point.y, point.low, point.high) for point in points),
        line.is_function,
    )
