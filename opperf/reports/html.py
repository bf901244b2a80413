"""A report as HTML, without scripts and external resources: a fragment for a page, or a page;
templates, and flame graphs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from opperf.reports.model import Column, Drawing, FlameGraph, Frame, Report
from opperf.results.text import truncate
from opperf.results.web_page import page_text, xml_text

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATE = "report.html.jinja"
"""The fragment's text, beside this module."""


class _ShownCell(NamedTuple):
    text: str
    classes: str
    note: str
    depth: int
    is_struck: bool


def write_html(report: Report, width: int | None = None) -> str:
    """Returns the fragment, with every row."""
    return render(__package__, TEMPLATE, fragment_content(report))


def fragment_content(report: Report) -> dict[str, object]:
    """Returns the variables of the template."""
    return {"report": report, "captioned": True, "rows": _rows, "drawn": _content_of}


def _rows(columns: tuple[Column, ...]) -> list[tuple[_ShownCell, ...]]:
    return list(zip(*map(_shown, columns), strict=True))


def _shown(column: Column) -> list[_ShownCell]:
    kind = "number" if column.kind.is_number else ""
    return [
        _ShownCell(
            text.strip(),
            " ".join(filter(None, (kind, cell.tone))),
            cell.note,
            cell.depth,
            cell.is_struck and bool(text.strip()),
        )
        for text, cell in zip(column.whole(), column.cells, strict=True)
    ]


CODE = re.compile(r"(?<!\\)(`+)(.+?)(?<!\\)\1")

STRONG = re.compile(r"\*\*(.+?)\*\*")

ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
"""Punctuation that Markdown has behind a backslash."""


def coded(sentence: str) -> Markup:
    """Returns a sentence with what stands between backticks as code; all else is text."""
    from markupsafe import Markup, escape

    return Markup(CODE.sub(r"<code>\2</code>", str(escape(sentence))))


def marked(paragraph: str) -> Markup:
    """Returns a paragraph whose markup is Markdown's: code, strong words, escaped punctuation."""
    from markupsafe import Markup

    strong = STRONG.sub(r"<strong>\1</strong>", str(coded(paragraph)))
    return Markup(ESCAPED.sub(r"\1", strong))


def unmarked(paragraph: str) -> str:
    """Returns the same as text, for the title of a page."""
    return ESCAPED.sub(r"\1", STRONG.sub(r"\1", CODE.sub(r"\2", paragraph)))


def render(package: str, template: str, content: Mapping[str, Any]) -> str:
    """Returns a template of a package with its variables. Text is escaped."""
    # Costs some 50 ms to import, and only this form needs it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package, "."),
        # Names and messages from a file may hold markup.
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(coded=coded, marked=marked)
    return environment.get_template(template).render(content)


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
    """Returns the first flame graph or other drawing of a report's sections as an image."""
    sections = report.sections
    return next(svg_of(own) for section in sections if (own := section.flame or section.drawing))


def svg_of(graph: FlameGraph | Drawing) -> str:
    """Returns the graph as an image."""
    if isinstance(graph, Drawing):
        return render(__package__, graph.template, {"graph": graph.content})
    return render(__package__, "flame_graph.svg.jinja", {"graph": _content_of(graph)})


def page_of(graph: FlameGraph | Drawing) -> str:
    """Returns the graph as a page."""
    return page_text(xml_text(graph.title), svg_of(graph), styles=[STYLE])


def _content_of(graph: FlameGraph) -> dict[str, Any]:
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
