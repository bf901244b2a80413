"""Inputs, numbers and durations as text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Any

from opperf.model import Case, display_arguments


def value_text(value: Any) -> str:
    """Returns an argument's value as short text: a shape as Python writes it."""
    if isinstance(value, list):
        if all(type(extent) is int for extent in value):
            return str(tuple(value))
        return f"[{', '.join(value_text(element) for element in value)}]"
    return str(value)


def inputs_text(case: Case) -> str:
    """Returns the case's arguments on one line: `lhs: (1024, 1024), rhs: (1024, 1024)`."""
    return ", ".join(
        f"{name}: {value_text(value)}" for name, value in display_arguments(case).items()
    )


def pluralize(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 record`, `2 records`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def terminal_width() -> int | None:
    """Returns the width of the terminal; None if standard output is a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def truncate(line: str, width: int | None) -> str:
    """Returns the line cut to this width, with an ellipsis if it was longer."""
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def wrap(text: str, width: int) -> str:
    """Returns a paragraph with lines of this width, indented except for the first."""
    return textwrap.fill(
        text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def duration(seconds: float) -> str:
    """Returns a duration as text: `0.4 s`, `12 s`, `2 min 05 s`, `1 h 10 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
