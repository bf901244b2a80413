"""Inputs and durations as text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Any

from opperf.model import Case, display_arguments


def value_text(value: Any) -> str:
    """A shown argument in one short piece: a shape as Python writes it."""
    if isinstance(value, list):
        if all(type(extent) is int for extent in value):
            return str(tuple(value))
        return f"[{', '.join(value_text(element) for element in value)}]"
    return str(value)


def inputs_text(case: Case) -> str:
    """The case's arguments on one line: `lhs: (1024, 1024), rhs: (1024, 1024)`."""
    return ", ".join(
        f"{name}: {value_text(value)}" for name, value in display_arguments(case).items()
    )


def counted(number: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def terminal_width() -> int | None:
    """Columns of the terminal that is printed to; None for a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def truncate(line: str, width: int | None) -> str:
    """A line that is no wider than this, with an ellipsis where something was cut off."""
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def wrap(text: str, width: int) -> str:
    """A paragraph whose lines are no wider than this, the further ones indented."""
    return textwrap.fill(
        text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def duration(seconds: float) -> str:
    """A duration as people say it: `0.4 s`, `12 s`, `2 min 05 s`, `1 h 10 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
