"""One line about a model, from the docstring of the function that builds it."""

from __future__ import annotations

import inspect
import re
from typing import Any

LINK = re.compile(r"`([^`<]+?)\s*<([^>`]+)>`_*")
"""A link as Sphinx writes it."""

ROLE = re.compile(r":\w+:`[~.]*([^`]+)`|``?([^`]+)``?_*")

LONGEST = 160
"""Characters of the line: more is no longer one in a table."""


def first_sentence(function: Any, otherwise: str) -> str:
    """Returns the first paragraph of a function's docstring in plain text, a link as its text and
    address; `otherwise` without one."""
    text = inspect.getdoc(function) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    plain = LINK.sub(r"\1 (\2)", paragraph)
    plain = ROLE.sub(lambda found: found[1] or found[2], plain).rstrip(" .")
    if not plain:
        return otherwise
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 3] + "..."
