"""A flame graph as an image (SVG) and as a page (HTML), without scripts and external resources."""

from __future__ import annotations

from typing import Any

from opperf.reports.model import FlameGraph, Frame, Report
from opperf.reports.templates import render
from opperf.results.text import truncate
from opperf.results.web_page import page_text, xml_text

WIDTH, LINE = 1200, 17
"""Pixels of the graph's width, and of a frame's height: a screen, and a line of text."""

MARGIN = 10

LETTER = 6.7
"""Pixels of a letter of a monospaced font of 11 pixels, with some room to spare."""

LEAST_LETTERS = 3
"""Fewest letters of a name that are written in a frame: fewer say nothing."""

TITLE_LETTERS = 170
"""Letters of a line of the width of the graph."""

STYLE = """\
body { margin: 0; background: #fff; }
svg { width: 100%; height: auto; }
svg g:hover rect { stroke: #000; stroke-width: 1.5; }
"""
"""Of the graph as a page: as wide as the window."""


def write_svg(report: Report, width: int | None = None) -> str:
    """Returns the flame graphs of a report's sections, of which there is one, as an image."""
    return next(svg_of(section.flame) for section in report.sections if section.flame is not None)


def svg_of(graph: FlameGraph) -> str:
    """Returns the graph as an image."""
    return render(__package__, "flame_graph.svg.jinja", {"graph": content_of(graph)})


def page_of(graph: FlameGraph) -> str:
    """Returns the graph as a page."""
    return page_text(xml_text(graph.title), svg_of(graph), styles=[STYLE])


def content_of(graph: FlameGraph) -> dict[str, Any]:
    """Returns the graph as the templates have it: in pixels, from the upper left."""
    head = [xml_text(truncate(line, TITLE_LETTERS)) for line in graph.head]
    top = LINE * (len(head) + 2)
    scale = WIDTH - 2 * MARGIN
    depth = max((frame.depth for frame in graph.frames), default=0)
    return {
        "width": WIDTH,
        "height": top + LINE * (1 + depth) + MARGIN,
        "margin": MARGIN,
        "line": LINE,
        "title": xml_text(graph.title),
        "short_title": xml_text(truncate(graph.short_title or graph.title, TITLE_LETTERS - 40)),
        "head": head,
        "boxes": [
            {
                "x": round(MARGIN + scale * frame.begin, 2),
                "y": top + LINE * frame.depth,
                "width": round(scale * frame.width, 2),
                "colour": frame.colour,
                "title": xml_text(frame.hover),
                "text": xml_text(_label(frame, scale * frame.width)),
            }
            for frame in graph.frames
        ],
    }


def _label(frame: Frame, width: float) -> str:
    letters = int((width - 4) / LETTER)
    if letters < LEAST_LETTERS:
        return ""
    return truncate(frame.name if len(frame.name) <= letters else frame.short, letters)
