"""Plots as text, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opperf.results.plots.data import Panel, Plot, Point
from opperf.results.plots.ticks import linear_ticks, log_ticks, number_text, ticks_of
from opperf.results.text import wrap

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
    """Returns one panel, with its legend below."""
    from plotext import figure, terminal, uncolorize

    x_log, y_log = plot.x_is_log, plot.x_is_log and panel.is_log
    along, up = _transform(x_log), _transform(y_log)
    points = [point for line in panel.lines for point in line.points]
    low, high = _limits(points, y_log, panel.end)
    terminal.limit(False, False)
    figure.clear()
    figure.plot_size(width, HEIGHT)
    figure.theme("simple" if color else "colorless")
    colors = [_pixel(place, color) for place in range(len(panel.lines))]
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


def _pixel(place: int, color: bool) -> int | None:
    return COLORS[place] if color else None


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
    """Returns the limits of the vertical axis: those of the intervals, which are cut at `end`, and
    zero unless the axis is logarithmic."""
    lows = [point.y if point.low is None else point.low for point in points]
    highs = [point.y if point.high is None else min(point.high, end) for point in points]
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
    """Sets limits and labels: the measured sizes along, round numbers up."""
    along, up = transforms
    longest = max(len(number_text(size)) for size in plot.sizes)
    sizes = ticks_of(plot.sizes, max(2, width // (longest + 4)), along)
    figure.ruler("x").ticks([along(size) for size in sizes], [number_text(size) for size in sizes])
    most = HEIGHT // ROWS_PER_TICK + 1
    values = (log_ticks if is_log else linear_ticks)(*limits, most)
    figure.ruler("y").lim(up(limits[0]), up(limits[1]))
    figure.ruler("y").ticks(list(map(up, values)), list(map(number_text, values)))


def _legend(panel: Panel, width: int) -> list[str]:
    """Returns the marks with the names of their lines, where there are several."""
    if len(panel.lines) < 2:
        return []
    names = [f"{mark} {line.name}" for mark, line in zip(MARKS, panel.lines, strict=False)]
    # The spaces of a name are kept together with its mark.
    joined = "   ".join(name.replace(" ", "\N{NO-BREAK SPACE}") for name in names)
    return [wrap(joined, width).replace("\N{NO-BREAK SPACE}", " ")]
