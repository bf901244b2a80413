"""A flame graph of a difference, as an image (SVG) and as a page (HTML), without scripts and
external resources: the paths of the new dump, as wide as their counts, coloured by their
difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from opperf.comparison.explaining.difference import DumpDifference
from opperf.comparison.explaining.paths import Box, Graph
from opperf.comparison.explaining.reports.names import (
    change_text,
    count_text,
    decimals_of,
    share_text,
    totals_text,
    without_arguments,
)
from opperf.reports.html import render
from opperf.results.figures import NOT_APPLICABLE
from opperf.results.text import truncate

WIDTH, LINE = 1200, 17
"""Pixels of the graph's width, and of a frame's height: a screen, and a line of text."""

MARGIN = 10

LETTER = 6.7
"""Pixels of a letter of a monospaced font of 11 pixels, with some room to spare."""

LEAST_LETTERS = 3
"""Fewest letters of a name that are written in a frame: fewer say nothing."""

GREY, RED, BLUE = (236, 236, 232), (222, 60, 50), (60, 110, 220)
"""Colours of frames that are as they were, that grew most and that shrank most."""

LEGEND = (
    "Width: counts of the new file. Red: more than in the base; blue: less. How a function's "
    "counts divide among its callers is an estimate."
)

SHOWN_VANISHED = 5
"""Most paths of the base alone that are listed."""

TITLE_LETTERS = 170
"""Letters of a line of the width of the graph."""


def svg_flame(graph: Graph, difference: DumpDifference, title: str) -> str:
    """Returns the flame graph as an image."""
    return render(__package__, "flame.svg.jinja", _content(graph, difference, title))


def html_flame(graph: Graph, difference: DumpDifference, title: str) -> str:
    """Returns the flame graph as a page."""
    content = _content(graph, difference, title)
    return render(__package__, "flame.html.jinja", content)


WRITERS: dict[str, Callable[[Graph, DumpDifference, str], str]] = {
    ".svg": svg_flame,
    ".html": html_flame,
}
"""By the extension of the file."""


def _content(graph: Graph, difference: DumpDifference, title: str) -> dict[str, Any]:
    """Returns the templates' variables."""
    largest = max((abs(box.change) for box in graph.boxes), default=0.0)
    decimals = decimals_of((graph.total, difference.base_total, difference.new_total))
    head = [truncate(line, TITLE_LETTERS) for line in _head(graph, difference, decimals)]
    top = LINE * (len(head) + 2)
    scale = (WIDTH - 2 * MARGIN) / graph.total if graph.total else 0.0
    return {
        "width": WIDTH,
        "height": top + LINE * (1 + max((box.depth for box in graph.boxes), default=0)) + MARGIN,
        "margin": MARGIN,
        "line": LINE,
        "title": title or f"{difference.base.path} and {difference.new.path}",
        "short_title": truncate(title or "What changed", TITLE_LETTERS - 40),
        "head": head,
        "boxes": [
            {
                "x": round(MARGIN + scale * box.begin, 2),
                "y": top + LINE * box.depth,
                "width": round(scale * box.new, 2),
                "colour": _colour(box.change, largest),
                "title": _hover(box, graph.total, decimals),
                "text": _label(box, scale * box.new),
            }
            for box in graph.boxes
        ],
    }


def _head(graph: Graph, difference: DumpDifference, decimals: int) -> list[str]:
    base, new = difference.base_total, difference.new_total
    lines = [
        f"{difference.event} per call: {totals_text(base, new, decimals)}",
        f"Base: {difference.base.path}; new: {difference.new.path}",
        LEGEND,
    ]
    if graph.vanished:
        lines.append(f"Only in the base, not drawn: {', '.join(_vanished(graph, decimals))}")
    return lines


def _vanished(graph: Graph, decimals: int) -> Iterable[str]:
    for box in graph.vanished[:SHOWN_VANISHED]:
        name = truncate(without_arguments(box.function.name), 40)
        yield f"{name} {change_text(box.change, decimals)}"
    if len(graph.vanished) > SHOWN_VANISHED:
        yield f"and {len(graph.vanished) - SHOWN_VANISHED} more"


def _colour(change: float, largest: float) -> str:
    """Returns the colour of a frame, the stronger the more of the largest change it has."""
    # The root of the share: a tenth of the change is still seen.
    strength = math.sqrt(abs(change) / largest) if largest else 0.0
    towards = RED if change > 0 else BLUE
    mixed = (round(a + (b - a) * strength) for a, b in zip(GREY, towards, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _hover(box: Box, total: float, decimals: int) -> str:
    where = f" ({box.function.object})" if box.function.object else ""
    was = (
        f"{count_text(box.base, decimals)} before, {change_text(box.change, decimals)} "
        f"({share_text(box.change, box.base)})"
        if box.base
        else "new"
    )
    share = f"{100 * box.new / total:.1f} %" if total else NOT_APPLICABLE
    return f"{box.function.name}{where}\n{count_text(box.new, decimals)} per call, {share}; {was}"


def _label(box: Box, width: float) -> str:
    letters = int((width - 4) / LETTER)
    if letters < LEAST_LETTERS:
        return ""
    name = box.function.name
    return truncate(name if len(name) <= letters else without_arguments(name), letters)
