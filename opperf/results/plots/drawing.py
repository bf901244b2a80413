"""Charts of run files as they are printed and written: their files, titles and formats;
and bars as an image."""

from __future__ import annotations

import os
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from opperf.errors import OutputError, RunFileError, UsageError
from opperf.extras import check_extras
from opperf.model import DECLARED, Record, Run
from opperf.plurals import pluralize
from opperf.results.kept import display
from opperf.results.output import check_output
from opperf.results.plots.bars import INPUTS_WIDTH, BarPanel, BarPlot, BarRow, Limits
from opperf.results.plots.data import Plot
from opperf.results.plots.dimensions import linear_ticks, log_ticks, measured, number_text
from opperf.results.plots.images import (
    INTERVALS,
    WRITERS,
    image,
    interval_bars,
    series_channels,
    styled,
)
from opperf.results.plots.text import bar_text, plot_text
from opperf.results.projection import Source
from opperf.results.runfile import is_run_file, read_run
from opperf.results.sweeps import swept_inputs, swept_labels
from opperf.results.text import terminal_width, truncate
from opperf.results.units import MARK_LEGEND, format_figure

TEXT_WIDTH = 80
"""Columns of a chart that is printed to a file or a pipe."""

TITLE_WIDTH = 100
"""Most characters of a line above an image, the width of two panels."""

SHOWN_INPUTS = 6
"""Most operators whose inputs are above an image."""


def print_plot(plot: Plot | BarPlot) -> None:
    """Prints a chart for the terminal. Raises `UsageError` if what draws it is not installed."""
    width = terminal_width() or TEXT_WIDTH
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if isinstance(plot, BarPlot):
        print(bar_text(plot, width, color))
        return
    check_extras("a plot", "plotext")
    print(plot_text(plot, width, color))


def draw(
    plot: Plot | BarPlot, runs: Sequence[Run], sources: Sequence[Source], suffix: str
) -> bytes:
    """Returns the file of a chart; `suffix` is an image's or a page's."""
    records = [entry.record for entry in measured(sources)]
    title, subtitle = _title(records), _subtitle(runs, records)
    if isinstance(plot, BarPlot):
        chart = bar_picture(plot, title, [*subtitle, *legend_lines(plot), *plot.notes])
    else:
        marks = [INTERVALS] if plot.has_intervals else []
        chart = image(plot, title, [*subtitle, *marks, *plot.notes])
    return WRITERS[suffix](chart)


def check_image(output: Path | None, files: Sequence[Path], overwrite: bool) -> str:
    """Returns the image's extension. Raises `UsageError` or `OutputError` for a bad output."""
    if output is None:
        return ""
    suffix = output.suffix.lower()
    if suffix not in WRITERS:
        raise UsageError(
            f"{output}: the name of an image ends in {', '.join(WRITERS)}; without -o the chart "
            "is printed in the terminal"
        )
    if output in files:
        raise OutputError(f"{output} is a run file itself; choose another output")
    check_output(output, overwrite)
    return suffix


def read_drawn(path: Path, say: Callable[[str], None]) -> Run:
    """Returns the run of a file. Raises `RunFileError` for any other, and for one without a
    record."""
    if path.is_file() and not is_run_file(path):
        raise RunFileError(
            f"{path} is not a run file, which has the intervals; write one with opperf run -f "
            "jsonl -o FILE.jsonl; `opperf runs` lists those that are kept"
        )
    run, warnings = read_run(path)
    for warning in warnings:
        say(f"warning: {warning}")
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to plot")
    return run


def sources_of(files: Sequence[Path], runs: Sequence[Run]) -> list[Source]:
    """Returns the records of runs, under the shortest names that tell their files apart."""
    return [
        Source(name, run.records, run.header.labels)
        for name, run in zip(_names(files), runs, strict=True)
    ]


def _names(files: Sequence[Path]) -> list[str]:
    names = [display(path) for path in files]
    stems = Counter(Path(name).stem for name in names)
    return [Path(name).stem if stems[Path(name).stem] == 1 else name for name in names]


def _title(records: Sequence[Record]) -> str:
    operators = dict.fromkeys(swept_labels([record.case for record in records]))
    names = ", ".join(operators)
    if len(names) > TITLE_WIDTH:
        names = f"{pluralize(len(operators), 'operator')}: {names}"
    return truncate(names, TITLE_WIDTH)


def _subtitle(runs: Sequence[Run], records: Sequence[Record]) -> list[str]:
    swept: dict[str, list[Record]] = {}
    labels = swept_labels([record.case for record in records])
    for record, label in zip(records, labels, strict=True):
        if record.case.point:
            swept.setdefault(label, []).append(record)
    lines = [
        f"{label}: {swept_inputs([record.case for record in own])}"
        for label, own in list(swept.items())[:SHOWN_INPUTS]
    ]
    if len(swept) > SHOWN_INPUTS:
        lines.append(f"and {pluralize(len(swept) - SHOWN_INPUTS, 'other operator')}")
    facts: dict[str, None] = {}
    for run in runs:
        for environment in run.environments.values():
            version = environment.versions.get(environment.framework, "")
            facts |= {f"{environment.framework} {version}".strip(): None, environment.cpu: None}
    for name in ("device", "dtype", "profiler", "threads"):
        values = {getattr(record.case.settings, name) for record in records}
        if len(values) == 1:
            (value,) = values
            text = DECLARED[name].text(value)
            facts[text if name in ("device", "dtype") else f"{name} {text}"] = None
    lines.append(", ".join(filter(None, facts)))
    return [truncate(line, TITLE_WIDTH) for line in lines]


WIDTH = 350
"""Pixels of the longest bar: three columns with their names fit a wide screen."""

TEXT_SHARE = 0.5
"""Share of the axis beyond the longest bar, in which its value is written."""

BAR, GAP, TEXT_LINE = 14, 8, 13
"""Pixels of a bar with its value, between two rows, and of a line of a row's name."""

COLUMN_HEIGHT = 900
"""Pixels of a column that is full, if there are less than `MOST_COLUMNS`."""

MOST_COLUMNS = 3
"""Most columns beside one another."""

TITLE_HEIGHT = 60
"""Pixels of a panel's title and axis."""

INTERVAL = {"strokeWidth": 1.4}

MOST_TICKS = 6
"""Most labels of an axis: they do not overlap in `WIDTH`."""


def bar_picture(plot: BarPlot, title: str, subtitle: Sequence[str]) -> Any:
    """Returns the plot as a chart of Altair: for each metric its panels, in columns."""
    import altair as alt

    metrics = dict.fromkeys(panel.metric for panel in plot.panels)
    sections = []
    for metric in metrics:
        panels = [panel for panel in plot.panels if panel.metric == metric]
        limits = plot.limits(metric)
        columns = [
            alt.vconcat(*(_panel(part, plot, limits) for part in column), spacing=18)
            for column in _columns(panels)
        ]
        sections.append(alt.hconcat(*columns, spacing=40))
    return styled(alt.vconcat(*sections, spacing=30), title, subtitle)


def legend_lines(plot: BarPlot) -> list[str]:
    """Returns what the bars, their lines and figures mean, one sentence for each line."""
    lines = ["Bars: medians" + ("; lines: their 95 % intervals" if plot.has_intervals else "")]
    if any(plot.limits(panel.metric).is_log for panel in plot.panels):
        lines[0] += "; the axis is logarithmic"
    if plot.has_ratios:
        lines.append(f"×: ratio to {plot.series[0]}, of the same row")
    if plot.is_uncertain:
        lines.append(MARK_LEGEND)
    return lines


def _columns(panels: Sequence[BarPanel]) -> list[list[BarPanel]]:
    """Returns the panels in columns of about the same height, long ones continued."""
    total = sum(_height(panel.rows) + TITLE_HEIGHT for panel in panels)
    number = min(MOST_COLUMNS, -(-total // COLUMN_HEIGHT))
    full = total / number
    columns: list[list[BarPanel]] = [[]]
    taken = 0
    for panel in panels:
        rows: list[BarRow] = []
        for row in panel.rows:
            height = _row_height([row])
            is_full = taken + (0 if rows else TITLE_HEIGHT) + height > full
            if is_full and len(columns) < number and taken:
                columns[-1] += [panel._replace(rows=tuple(rows))] if rows else []
                columns.append([])
                rows, taken = [], 0
            taken += height + (0 if rows else TITLE_HEIGHT)
            rows.append(row)
        columns[-1].append(panel._replace(rows=tuple(rows)))
    return columns


def _lines(row: BarRow) -> list[str]:
    return [
        line
        for text in (row.operator, row.inputs)
        for line in textwrap.wrap(text, INPUTS_WIDTH, break_on_hyphens=False)
    ]


def _row_height(rows: Iterable[BarRow]) -> int:
    """Returns the height that each of some rows has."""
    return GAP + max(max(BAR * len(row.bars), TEXT_LINE * len(_lines(row))) for row in rows)


def _height(rows: Sequence[BarRow]) -> int:
    return len(rows) * _row_height(rows)


def _panel(panel: BarPanel, plot: BarPlot, limits: Limits) -> Any:
    import altair as alt

    # Two rows of one name are two.
    keys = [str(place) for place, _ in enumerate(panel.rows)]
    height = _height(panel.rows)
    low, high, is_log = limits
    end = high * (high / low) ** TEXT_SHARE if is_log else high * (1 + TEXT_SHARE)
    ticks = (log_ticks if is_log else linear_ticks)(low, high, MOST_TICKS)
    x_title = " ".join(
        filter(None, (panel.metric.title, f"({panel.unit.name})" if panel.unit.name else ""))
    )
    x = alt.X(
        "value:Q",
        title=x_title,
        scale=alt.Scale(type="log" if is_log else "linear", domain=[low, end], nice=False),
        axis=alt.Axis(values=ticks, labelExpr=_labels(ticks)),
    )
    y = alt.Y(
        "row:N",
        sort=keys,
        title=None,
        scale=alt.Scale(domain=keys, paddingInner=GAP / (height / len(keys)), paddingOuter=0.1),
        axis=None,
    )
    encoded: dict[str, Any] = {"y": y}
    if any(len(row.bars) > 1 for row in panel.rows):
        encoded["yOffset"] = alt.YOffset("series:N", scale=alt.Scale(domain=list(plot.series)))
    legend = alt.Legend(title=None, orient="top", columns=MOST_COLUMNS, labelLimit=0)
    channels = series_channels("series", plot.series, legend if len(plot.series) > 1 else None)
    rows, shown = _rows(panel, keys, limits), ("name", "series", "text", "interval")
    layers = alt.layer(
        *interval_bars(rows, encoded, x, channels["color"], shown, INTERVAL, size=BAR - 1),
        _bar_names(panel, keys, y),
    )
    title = alt.TitleParams(panel.title, frame="group", fontSize=13) if panel.title else None
    sized = layers.properties(width=WIDTH, height=height)
    return sized.properties(title=title) if title else sized


def _bar_names(panel: BarPanel, keys: Sequence[str], y: Any) -> Any:
    """Returns the names left of the rows: labels of an axis would stand at their first lines."""
    import altair as alt

    lines = [_lines(row) for row in panel.rows]
    rows = [
        {"row": key, "label": "\n".join(own), "up": -TEXT_LINE * (len(own) - 1) / 2}
        for key, own in zip(keys, lines, strict=True)
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_text(
            align="right",
            baseline="middle",
            lineBreak="\n",
            lineHeight=TEXT_LINE,
            fontSize=11,
            dx=-6,
            dy=alt.ExprRef("datum.up"),
        )
        .encode(x=alt.value(0), y=y, text="label:N")
    )


def _labels(ticks: Sequence[float]) -> str:
    texts = ", ".join(f"'{number_text(tick)}'" for tick in ticks)
    return f"[{texts}][round(datum.index * {max(1, len(ticks) - 1)})]"


def _rows(panel: BarPanel, keys: Sequence[str], limits: Limits) -> list[dict[str, Any]]:
    found = []
    for row, key in zip(panel.rows, keys, strict=True):
        for bar in row.bars:
            text = format_figure(bar.figure, panel.unit)
            ratio = "" if bar.ratio is None else f"  ×{bar.ratio:.2f}"
            high = max(bar.value, min(bar.high, limits.high))
            found.append(
                {
                    "row": key,
                    "name": row.name,
                    "series": bar.name,
                    "start": limits.low if limits.is_log else 0.0,
                    "value": bar.value,
                    "low": max(bar.low, limits.low),
                    "high": high,
                    "end": high,
                    "text": f"{text}{ratio}",
                    "interval": f"{bar.low:.4g} to {bar.high:.4g}" if bar.low < bar.high else "",
                }
            )
    return found
