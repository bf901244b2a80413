"""Bar charts as text, for a terminal."""

from __future__ import annotations

import math

from opperf.results.plots.bars import BarPanel, BarPlot, BarRow, Limits
from opperf.results.plots.text import COLORS, LEAST_WIDTH
from opperf.results.text import wrap
from opperf.results.units import MARK_LEGEND, align, format_figure

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
    parts = [_panel(panel, plot, width, color) for panel in plot.panels]
    if plot.has_ratios:
        parts.append(wrap(f"×: ratio to {plot.series[0]}, of the same row", width))
    if plot.is_uncertain:
        parts.append(wrap(MARK_LEGEND, width))
    return "\n\n".join(parts)


def _panel(panel: BarPanel, plot: BarPlot, width: int, color: bool) -> str:
    """Returns one panel: a line for each bar, below the name of its row where it has several."""
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
    names = [_name(row) if is_single else bar.name for row in panel.rows for bar in row.bars]
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
            lines.append(wrap(_name(row), width))
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


def _name(row: BarRow) -> str:
    return ", ".join(filter(None, (row.operator, row.inputs)))


def _bar(value: float, limits: Limits, width: int) -> str:
    """Returns a bar whose longest, at the end of the axis, has this width."""
    low, high, is_log = limits
    share = math.log(value / low) / math.log(high / low) if is_log else max(0.0, value) / high
    eighths = round(8 * width * min(1.0, share))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8]
