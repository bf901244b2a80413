"""Messages on standard error, in lines that end between words."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from typing import TextIO

COMMAND = re.compile(r"(?<=: )opperf .+$")
"""A command at the end of a message, which is for copying and never wrapped."""

LEAST = 20
"""Fewest columns that a message is wrapped to."""


def tell(text: str, stream: TextIO | None = None) -> None:
    """Prints a message: on a terminal in lines of its width, in a file as it is."""
    stream = stream or sys.stderr
    width = stream_width(stream)
    print(text if width is None else wrap_message(text, width), file=stream, flush=True)


def stream_width(stream: TextIO) -> int | None:
    """Returns the columns of the terminal that a stream writes to; None if it is no terminal."""
    if not stream.isatty():
        return None
    return max(LEAST, os.get_terminal_size(stream.fileno()).columns)


def wrap_message(text: str, width: int) -> str:
    """Returns a message whose lines have at most this width, except for a command at its end."""
    return "\n".join(_wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    command = COMMAND.search(line)
    said = line[: command.start()].rstrip() if command else line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    wrapped = textwrap.fill(
        said, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return f"{wrapped}\n{indent}{command[0]}" if command else wrapped
