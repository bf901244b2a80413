"""Templates of HTML and SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
    return environment.get_template(template).render(content)
