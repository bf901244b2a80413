"""Bar charts as images: rows below one another, in columns where they are many."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from opperf.results.plots.bars import INPUTS_WIDTH, BarPanel, BarPlot, BarRow, Limits
from opperf.results.plots.dimensions import linear_ticks, log_ticks, number_text
from opperf.results.plots.images import PALETTE, styled
from opperf.results.units import MARK_LEGEND, format_figure

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
    color = alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(plot.series), range=list(PALETTE)),
        sort=None,
        legend=legend if len(plot.series) > 1 else None,
    )
    base = alt.Chart(alt.Data(values=_rows(panel, keys, limits))).encode(**encoded)
    layers = alt.layer(
        base.mark_bar(clip=True, size=BAR - 1).encode(
            x=x,
            x2="start:Q",
            color=color,
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("name", "series", "text", "interval")],
        ),
        base.mark_rule(strokeWidth=1.4, color="#222", clip=True).encode(x="low:Q", x2="high:Q"),
        base.mark_text(align="left", dx=4, fontSize=10.5).encode(x="end:Q", text="text:N"),
        _names(panel, keys, y),
    )
    title = alt.TitleParams(panel.title, frame="group", fontSize=13) if panel.title else None
    sized = layers.properties(width=WIDTH, height=height)
    return sized.properties(title=title) if title else sized


def _names(panel: BarPanel, keys: Sequence[str], y: Any) -> Any:
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
                    "name": ", ".join(filter(None, (row.operator, row.inputs))),
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
