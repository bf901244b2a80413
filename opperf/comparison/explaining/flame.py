"""A flame graph of a difference, as an image (SVG) and as a page (HTML), without scripts and
external resources: the paths of the new dump, as wide as their counts, coloured by their
difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from opperf.comparison.explaining.difference import DumpDifference
from opperf.comparison.explaining.difference_report import (
    change_text,
    count_text,
    decimals_of,
    share_text,
    totals_text,
    without_arguments,
)
from opperf.comparison.explaining.paths import Box, Graph
from opperf.reports.html import page_of, svg_of
from opperf.reports.model import FlameGraph, Frame
from opperf.results.text import truncate
from opperf.results.units import NOT_APPLICABLE

GREY, RED, BLUE = (236, 236, 232), (222, 60, 50), (60, 110, 220)
"""Colours of frames that are as they were, that grew most and that shrank most."""

LEGEND = (
    "Width: counts of the new file. Red: more than in the base; blue: less. How a function's "
    "counts divide among its callers is an estimate."
)

SHOWN_VANISHED = 5
"""Most paths of the base alone that are listed."""


WRITERS: dict[str, Callable[[Graph, DumpDifference, str], str]] = {
    ".svg": lambda graph, difference, title: svg_of(_drawn(graph, difference, title)),
    ".html": lambda graph, difference, title: page_of(_drawn(graph, difference, title)),
}
"""Functions that return the flame graph as an image and as a page, by the file's extension."""


def _drawn(graph: Graph, difference: DumpDifference, title: str) -> FlameGraph:
    largest = max((abs(box.change) for box in graph.boxes), default=0.0)
    decimals = decimals_of((graph.total, difference.base_total, difference.new_total))
    total = graph.total or 1.0
    return FlameGraph(
        title=title or f"{difference.base.path} and {difference.new.path}",
        short_title=title or "What changed",
        head=tuple(_head(graph, difference, decimals)),
        frames=tuple(
            Frame(
                name=box.function.name,
                short=without_arguments(box.function.name),
                begin=box.begin / total,
                width=box.new / total,
                depth=box.depth,
                colour=_colour(box.change, largest),
                hover=_hover(box, graph.total, decimals),
            )
            for box in graph.boxes
        ),
    )


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
