"""Templates of HTML and SVG."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

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
