"""Plots and bar charts as text, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opperf.results.plots.bars import BarPanel, BarPlot, Limits
from opperf.results.plots.data import Panel, Plot, Point
from opperf.results.plots.dimensions import linear_ticks, log_ticks, number_text, ticks_of
from opperf.results.text import wrap
from opperf.results.units import MARK_LEGEND, align, format_figure

INTERVALS = "Bars: 95 % intervals of the medians"

MARKS = "ox+*#@%&"
"""Marks of the points, one for each line: a terminal may have no colours, and paper has none."""

COLORS = (12, 9, 10, 13, 11, 14, 7, 8)
"""Numbers of the terminal's own colours, which suit its background."""

HEIGHT = 18
"""Rows of a panel: two, with their legends, fit a large window."""

LEAST_WIDTH = 40
"""Least columns of a panel, in which its ticks are still readable."""

ROWS_PER_TICK = 3
"""Rows between two labels of the vertical axis."""

Transform = Callable[[float], float]


def plot_text(plot: Plot, width: int, color: bool) -> str:
    """Returns the panels, one below the other."""
    panels = [_panel(panel, plot, max(width, LEAST_WIDTH), color) for panel in plot.panels]
    return "\n\n".join([*panels, *([INTERVALS] if plot.has_intervals else [])])


def _panel(panel: Panel, plot: Plot, width: int, color: bool) -> str:
    from plotext import figure, terminal, uncolorize

    x_log, y_log = plot.x_is_log, plot.x_is_log and panel.is_log
    along, up = _transform(x_log), _transform(y_log)
    points = [point for line in panel.lines for point in line.points]
    low, high = _limits(points, y_log, panel.end)
    terminal.limit(False, False)
    figure.clear()
    figure.plot_size(width, HEIGHT)
    figure.theme("simple" if color else "colorless")
    colors = COLORS[: len(panel.lines)] if color else [None] * len(panel.lines)
    for line, pixel in zip(panel.lines, colors, strict=True):
        for point in line.points:
            if point.low is not None and point.high is not None:
                x = along(point.x)
                figure.draw(
                    figure.segment(
                        [x, x], [up(point.low), up(min(point.high, panel.end))], _marker("│", pixel)
                    )
                )
    for line, pixel in zip(panel.lines, colors, strict=True):
        if line.is_function and len(line.points) > 1:
            figure.draw(_signal(figure, line.points, along, up, "braille", pixel).lines())
    for line, mark, pixel in zip(panel.lines, MARKS, colors, strict=False):
        figure.draw(_signal(figure, line.points, along, up, mark, pixel))
    _set_axes(figure, plot, width, (along, up), (low, high), y_log)
    title = ", ".join(filter(None, (f"{panel.metric.title} ({panel.unit.name})", panel.title)))
    figure.title(title)
    figure.label(plot.x_title, "x")
    built = figure.build()
    text = built.string() if color else uncolorize(built)
    figure.clear()
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return "\n".join([*lines, *_legend(panel, width)])


def _marker(symbol: str, pixel: int | None) -> Any:
    from plotext import marker

    return marker(symbol) if pixel is None else marker(symbol, pixel)


def _signal(
    figure: Any,
    points: Sequence[Point],
    along: Transform,
    up: Transform,
    symbol: str,
    pixel: int | None,
) -> Any:
    x = [along(point.x) for point in points]
    return figure.signal(x, [up(point.y) for point in points], marker=_marker(symbol, pixel))


def _transform(is_log: bool) -> Transform:
    """Returns the function from a value to its place: the axes of the library are linear."""
    return math.log10 if is_log else float


def _limits(points: Sequence[Point], is_log: bool, end: float) -> tuple[float, float]:
    """Returns the limits of the vertical axis, with zero unless it is logarithmic."""
    # A median may be outside of its interval, of figures that others computed.
    lows = [point.y if point.low is None else min(point.y, point.low) for point in points]
    highs = [
        point.y if point.high is None else max(point.y, min(point.high, end)) for point in points
    ]
    low, high = min(lows) if is_log else min(0.0, *lows), max(highs)
    if low == high:
        return (low / 2, high * 2) if is_log else (low, low + 1)
    return low, high


def _set_axes(
    figure: Any,
    plot: Plot,
    width: int,
    transforms: tuple[Transform, Transform],
    limits: tuple[float, float],
    is_log: bool,
) -> None:
    along, up = transforms
    longest = max(len(number_text(size)) for size in plot.sizes)
    sizes = ticks_of(plot.sizes, max(2, width // (longest + 4)), along)
    figure.ruler("x").ticks([along(size) for size in sizes], [number_text(size) for size in sizes])
    most = HEIGHT // ROWS_PER_TICK + 1
    values = (log_ticks if is_log else linear_ticks)(*limits, most)
    figure.ruler("y").lim(up(limits[0]), up(limits[1]))
    figure.ruler("y").ticks(list(map(up, values)), list(map(number_text, values)))


def _legend(panel: Panel, width: int) -> list[str]:
    if len(panel.lines) < 2:
        return []
    names = [f"{mark} {line.name}" for mark, line in zip(MARKS, panel.lines, strict=False)]
    # The spaces of a name are kept together with its mark.
    joined = "   ".join(name.replace(" ", "\N{NO-BREAK SPACE}") for name in names)
    return [wrap(joined, width).replace("\N{NO-BREAK SPACE}", " ")]


EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
"""Parts of a character's width, by eighths."""

NAME_SHARE = 0.4
"""Most of the width that the names beside bars take; longer ones have a line of their own."""

LEAST_BAR = 10
"""Least characters of the longest bar, for which names have lines of their own."""

SCALE_TEXT = "bars from {low:.3g}, on a logarithmic scale"


def bar_text(plot: BarPlot, width: int, color: bool) -> str:
    """Returns the panels, one below the other."""
    width = max(width, LEAST_WIDTH)
    parts = [_bar_panel(panel, plot, width, color) for panel in plot.panels]
    if plot.has_ratios:
        parts.append(wrap(f"×: ratio to {plot.series[0]}, of the same row", width))
    if plot.is_uncertain:
        parts.append(wrap(MARK_LEGEND, width))
    return "\n\n".join(parts)


def _bar_panel(panel: BarPanel, plot: BarPlot, width: int, color: bool) -> str:
    limits = plot.limits(panel.metric)
    unit = f" ({panel.unit.name})" if panel.unit.name else ""
    scale = SCALE_TEXT.format(low=limits.low) if limits.is_log else ""
    title = ", ".join(filter(None, (f"{panel.metric.title}{unit}", panel.title, scale)))
    bars = [bar for row in panel.rows for bar in row.bars]
    figures = align([format_figure(bar.figure, panel.unit) for bar in bars])
    ratios = ["" if bar.ratio is None else f"×{bar.ratio:.2f}" for bar in bars]
    longest = max(map(len, ratios))
    values = [
        f"{figure}  {ratio:>{longest}}".rstrip()
        for figure, ratio in zip(figures, ratios, strict=True)
    ]
    is_single = len(plot.series) == 1
    names = [row.name if is_single else bar.name for row in panel.rows for bar in row.bars]
    name_width = min(max(map(len, names)), round(NAME_SHARE * width))
    indent = "" if is_single else "  "
    room = width - len(indent) - max(map(len, values)) - 4
    if room - name_width < LEAST_BAR:
        name_width = 0
    room -= name_width
    lines = [wrap(title, width), ""]
    place = 0
    for row in panel.rows:
        if not is_single:
            lines.append(wrap(row.name, width))
        for bar in row.bars:
            name = names[place]
            if len(name) > name_width:
                lines.append(wrap(f"{indent}{name}", width))
                name = ""
            drawn = _bar(bar.value, limits, room)
            # The bars are padded before they are coloured, since colours have a length.
            padded = f"{drawn:<{room}}"
            if color:
                padded = (
                    f"\x1b[38;5;{COLORS[plot.series.index(bar.name) % len(COLORS)]}m{padded}\x1b[0m"
                )
            lines.append(f"{indent}{name:<{name_width}}  {padded}  {values[place]}".rstrip())
            place += 1
    return "\n".join(lines)


def _bar(value: float, limits: Limits, width: int) -> str:
    """Returns a bar whose longest, at the end of the axis, has this width."""
    low, high, is_log = limits
    share = math.log(value / low) / math.log(high / low) if is_log else max(0.0, value) / high
    eighths = round(8 * width * min(1.0, share))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8]
