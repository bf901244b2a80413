"""Plots as images and pages: PNG, SVG, and HTML that needs no network."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, cast

from opperf.results.plots.data import Line, Panel, Plot
from opperf.results.plots.dimensions import number_text, ticks_of
from opperf.results.text import wrap
from opperf.results.web_page import page_text, xml_text

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Colours for the colour-blind, after Okabe and Ito; the faint yellow is a brown."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
"""Marks of the points, so that a print without colours can be read too: one fewer than colours, so
that the ninth line has the first one's colour and another mark."""

LEGEND_WIDTH = 48
"""Characters of a line of the legend, beside which two panels still fit a wide screen."""

INTERVALS = "Bands: 95 % intervals of the medians"

WIDTH, HEIGHT = 420, 280
"""Pixels of a panel, at which a legend beside two panels still fits a screen."""

MOST_ROWS = 3
"""Most rows of panels, each of which has a row of its own; more are small ones in a grid."""

SMALL, GRID_COLUMNS = (230, 160), 4
"""Width and height of a panel of a grid, and panels beside one another: as wide as two others."""

SCALE = 2.0
"""Pixels of a PNG for each pixel of the page: sharp on a screen of high resolution."""

PADDING = 12
"""Pixels between the first and last points and the edges, so that no mark is cut."""

MOST_TICKS = 8
"""Most sizes that are labelled on an axis of `WIDTH`, in which their numbers do not overlap."""


BAND = 0.2
"""Opacity of bands, so that several over each other can be distinguished."""

ALONE: dict[str, Any] = {"strokeWidth": 7, "opacity": BAND}
"""The band of a series of one point, between which and another no area is."""

EACH: dict[str, Any] = {"strokeWidth": 1.2}
"""The interval of each point."""

INK = "#222"
"""Colour of intervals on bars."""

Rows = Sequence[Mapping[str, Any]]
"""The data of a chart."""


def series_channels(field: str, names: Sequence[str], legend: Any) -> dict[str, Any]:
    """Returns the colours and marks of series, which a field names."""
    import altair as alt

    made = {}
    for channel, kind, values in (("color", alt.Color, PALETTE), ("shape", alt.Shape, SHAPES)):
        scale = alt.Scale(domain=list(names), range=list(values))
        made[channel] = kind(f"{field}:N", scale=scale, sort=None, legend=legend)
    return made


def banded_lines(
    rows: Rows,
    x: Any,
    y: Any,
    channels: Mapping[str, Any],
    shown: Sequence[str],
    ends: tuple[str, str] = ("low", "high"),
    joined: Rows | None = None,
    size: int = 55,
) -> list[Any]:
    """Returns the layers of lines through points, with bands between the fields `ends`; `shown` are
    the fields on hover. With `joined`, these rows alone have lines and bands, and all have their
    intervals."""
    import altair as alt

    color, low = channels["color"], ends[0]
    connected = rows if joined is None else joined
    known = [row for row in connected if row[low] is not None]
    counts = Counter(row[color["shorthand"][:-2]] for row in known)
    alone = [row for row in known if counts[row[color["shorthand"][:-2]]] == 1]
    points, lines, banded, single = (
        alt.Chart(alt.Data(values=list(own)))
        for own in (rows, connected, known, alone if joined is None else rows)
    )
    band = {"x": x, "y": alt.Y(f"{low}:Q", title=y["title"]), "y2": f"{ends[1]}:Q", "color": color}
    tooltip = [alt.Tooltip(f"{name}:N") for name in shown]
    return [
        banded.mark_area(opacity=BAND).encode(**band),
        single.mark_rule(**(ALONE if joined is None else EACH)).encode(**band),
        lines.mark_line(strokeWidth=2).encode(x=x, y=y, color=color),
        points.mark_point(filled=True, size=size, opacity=1).encode(
            x=x, y=y, tooltip=tooltip, **channels
        ),
    ]


def interval_bars(
    rows: Rows,
    places: Mapping[str, Any],
    x: Any,
    color: Any,
    shown: Sequence[str],
    interval: Mapping[str, Any],
    **bar: Any,
) -> list[Any]:
    """Returns the layers of bars at some places, of the properties `bar`, with their intervals and
    a text at the end of each."""
    import altair as alt

    base, known = (
        alt.Chart(alt.Data(values=list(own))).encode(**places)
        for own in (rows, [row for row in rows if row["low"] is not None])
    )
    low, end = (alt.X(f"{name}:Q", title=x["title"]) for name in ("low", "end"))
    tooltip = [alt.Tooltip(f"{name}:N") for name in shown]
    start = {"x2": "start:Q"} if "start" in rows[0] else {}
    return [
        base.mark_bar(clip=True, **bar).encode(x=x, color=color, tooltip=tooltip, **start),
        known.mark_rule(clip=True, color=INK, **interval).encode(x=low, x2="high:Q"),
        base.mark_text(align="left", dx=4, fontSize=10.5).encode(x=end, text="text:N"),
    ]


def image(plot: Plot, title: str, subtitle: Sequence[str]) -> Any:
    """Returns the plot as a chart of Altair."""
    import altair as alt

    names = list(dict.fromkeys(line.name for panel in plot.panels for line in panel.lines))
    rows: dict[str, list[Panel]] = {}
    for panel in plot.panels:
        rows.setdefault(panel.title, []).append(panel)
    made = _grids(plot, names) if len(rows) > MOST_ROWS else _rows_of(rows.values(), plot, names)
    charts = alt.vconcat(*made, spacing=25)
    return styled(charts, title, subtitle)


def styled(charts: Any, title: str, subtitle: Sequence[str]) -> Any:
    """Returns charts with a title, and the fonts and colours of all images."""
    import altair as alt

    return (
        charts.properties(title=alt.TitleParams(title, subtitle=list(subtitle), anchor="start"))
        .configure_title(fontSize=15, subtitleFontSize=11, subtitleColor="#555")
        .configure_axis(labelFontSize=11, titleFontSize=12, gridColor="#e4e4e4")
        .configure_legend(labelFontSize=11, labelLimit=500, symbolSize=60, symbolStrokeWidth=2)
        .configure_view(stroke="#bbb")
    )


def _rows_of(rows: Iterable[Sequence[Panel]], plot: Plot, names: Sequence[str]) -> list[Any]:
    import altair as alt

    return [
        alt.hconcat(*(_panel(panel, plot, names) for panel in row), bounds="flush", spacing=70)
        for row in rows
    ]


def _grids(plot: Plot, names: Sequence[str]) -> list[Any]:
    import altair as alt

    grids = []
    for metric in dict.fromkeys(panel.metric for panel in plot.panels):
        panels = [panel for panel in plot.panels if panel.metric == metric]
        is_log = plot.x_is_log and all(panel.is_log for panel in panels)
        shared = _limits(panels) if is_log else None
        charts = [_panel(panel, plot, names, SMALL, shared) for panel in panels]
        grids.append(alt.concat(*charts, columns=GRID_COLUMNS, spacing=25))
    return grids


def _limits(panels: Sequence[Panel]) -> tuple[float, float]:
    rows = [row for panel in panels for row in _rows(panel.lines, panel.end)]
    return min(row["low"] for row in rows), max(row["high"] for row in rows)


def _panel(
    panel: Panel,
    plot: Plot,
    names: Sequence[str],
    size: tuple[int, int] = (WIDTH, HEIGHT),
    shared: tuple[float, float] | None = None,
) -> Any:
    import altair as alt

    channels = series_channels("line", names, _legend(names) if len(names) > 1 else None)
    kind: Literal["log", "linear"] = "log" if plot.x_is_log else "linear"
    sizes = alt.Scale(type=kind, nice=False, zero=False, padding=PADDING)
    x = alt.X("x:Q", title=plot.x_title, scale=sizes, axis=_size_axis(plot, size[0]))
    y_title = f"{panel.metric.title} ({panel.unit.name})"
    y = alt.Y("y:Q", title=y_title, scale=_scale(plot.x_is_log and panel.is_log, shared))
    joined = _rows([line for line in panel.lines if line.is_function], panel.end)
    layers = alt.layer(
        *banded_lines(
            _rows(panel.lines, panel.end),
            x,
            y,
            channels,
            ("line", "size", "median", "interval"),
            joined=joined,
            size=45,
        )
    )
    made = layers.properties(width=size[0], height=size[1])
    if len({panel.title for panel in plot.panels}) == 1:
        # The image's title says it.
        return made
    return made.properties(title=alt.TitleParams(panel.title, frame="group", fontSize=13))


def _legend(names: Sequence[str]) -> Any:
    import altair as alt

    lines = {name: wrap(name, LEGEND_WIDTH).split("\n") for name in map(_drawable, names)}
    return alt.Legend(
        title=None,
        orient="right",
        symbolOpacity=1,
        labelLimit=0,
        labelExpr=f"{json.dumps(lines)}[datum.label]",
    )


def _scale(is_log: bool, shared: tuple[float, float] | None) -> Any:
    import altair as alt

    if not is_log:
        return alt.Scale(zero=True)
    domain = list(shared) if shared else alt.Undefined
    return alt.Scale(type="log", nice=False, padding=PADDING, domain=domain)


def _size_axis(plot: Plot, width: int) -> Any:
    import altair as alt

    place = math.log10 if plot.x_is_log else float
    values = ticks_of(plot.sizes, MOST_TICKS * width // WIDTH, place)
    labels = {str(int(value)): number_text(value) for value in values}
    return alt.Axis(values=values, labelExpr=f"({json.dumps(labels)})[datum.value]", grid=True)


def _rows(lines: Sequence[Line], end: float) -> list[dict[str, Any]]:
    """Returns the points as rows, their intervals cut at `end`, or of no height."""
    return [
        {
            "line": line.name,
            "x": point.x,
            "y": point.y,
            "low": point.y if point.low is None else point.low,
            "high": point.y if point.high is None else min(point.high, end),
            "size": f"{point.x:g}",
            "median": f"{point.y:.4g}",
            "interval": ""
            if point.low is None or point.high is None
            else f"{point.low:.4g} to {point.high:.4g}",
        }
        for line in lines
        for point in line.points
    ]


def _specification(chart: Any) -> dict[str, Any]:
    """Returns the chart as JSON has it, each of its texts as one that can be drawn."""
    return cast("dict[str, Any]", _with_drawable_texts(chart.to_dict()))


def _with_drawable_texts(value: Any) -> Any:
    if isinstance(value, str):
        return _drawable(value)
    if isinstance(value, dict):
        return {key: _with_drawable_texts(own) for key, own in value.items()}
    if isinstance(value, list):
        return list(map(_with_drawable_texts, value))
    return value


def _drawable(text: str) -> str:
    """Returns a text without characters that no image has, at which the library that draws them
    ends the process, and without line ends that expressions of Vega do not read in texts."""
    return re.sub("[\u2028\u2029]", " ", xml_text(text))


@cache
def _version() -> str:
    """Returns the version of Vega-Lite that specifications are of."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _png(chart: Any) -> bytes:
    import vl_convert

    spec = _specification(chart)
    drawn: bytes = vl_convert.vegalite_to_png(spec, vl_version=_version(), scale=SCALE)
    return drawn


def _svg(chart: Any) -> bytes:
    import vl_convert

    spec = _specification(chart)
    drawn: str = vl_convert.vegalite_to_svg(spec, vl_version=_version())
    return drawn.encode()


DRAWING = """\
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const chart = document.getElementById("chart");
// Expressions are interpreted (ast): compiling them is what the page's policy forbids.
const options = { mode: "vega-lite", ast: true,
  actions: { export: true, source: false, compiled: false, editor: false } };
vegaEmbed(chart, data, options).catch((error) => {
  chart.textContent = error.message;
  throw error;
});
"""
"""Script that draws the chart of a page. Its menu saves an image; "source" and "editor" would open
another page, of another site."""

# Vega makes its menu and tooltips, whose texts it escapes, of markup.
CHANGES = {"require-trusted-types-for": ""}
"""Of the policy of a page with a chart."""


@cache
def _bundle() -> str:
    """Returns the script of Vega, Vega-Lite and what puts their charts in a page. It takes
    seconds to make."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", _version())
    return bundle


def _html(chart: Any) -> bytes:
    """Returns a page that has all its scripts."""
    spec = _specification(chart)
    return page_text(
        spec["title"]["text"] or "opperf",
        '<div id="chart"></div>',
        data=spec,
        scripts=[_bundle(), DRAWING],
        changes=CHANGES,
    ).encode()


WRITERS: dict[str, Callable[[Any], bytes]] = {".png": _png, ".svg": _svg, ".html": _html}
"""By the extension of the file."""
