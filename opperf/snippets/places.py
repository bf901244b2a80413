"""Where a definition is written: its file and line, for messages and for the origin of cases."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from opperf.decoding import parse_python
from opperf.errors import UsageError, one_line
from opperf.reading import WRITTEN_BY_HAND, read_bytes

PACKAGE = "opperf.snippets"
STANDARD = f"{PACKAGE}.standard"
"""The package of the standard set, whose modules are definitions like a user's."""


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def caller() -> Place:
    """Returns the line that calls this package: the nearest one outside it."""
    frame = sys._getframe()
    while _is_own(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


def _is_own(module: str) -> bool:
    is_inside = module == PACKAGE or module.startswith(f"{PACKAGE}.")
    return is_inside and module != STANDARD and not module.startswith(f"{STANDARD}.")


def place_in(text: str, line: int, definition: Place) -> Place:
    """Returns the place of a line of a text in its literal, or else of the definition."""
    begin = first_line(text, definition)
    return definition if begin is None else Place(definition.file, begin + line - 1)


def first_line(text: str, definition: Place) -> int | None:
    """Returns the line at which the only literal with this text begins, or None."""
    begins = [
        node.lineno
        for node in _literals(definition.file)
        if textwrap.dedent(str(node.value)) == text
    ]
    return begins[0] if len(begins) == 1 else None


def _literals(file: str) -> Iterator[ast.Constant]:
    """Yields the texts in a file's code; none of a file that cannot be read."""
    try:
        code = parse_python(read_bytes(file, WRITTEN_BY_HAND))
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(code):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node


def parse(text: str, what: str, definition: Place) -> ast.Module:
    """Returns the syntax tree of a snippet. Raises `UsageError` with file and line."""
    try:
        tree: ast.Module = parse_python(text)
        # Compiling finds what parsing accepts, as `return` outside a function.
        compile(text, "", "exec", dont_inherit=True)
        return tree
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        reason = getattr(error, "msg", None) or str(error)
        at = place_in(text, line, definition)
        shown = one_line(text.splitlines()[line - 1] if text.splitlines()[line - 1 :] else text, 60)
        raise UsageError(f"{at}: {what}: {reason}, in {shown!r}") from None
