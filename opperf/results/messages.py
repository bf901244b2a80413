"""Messages on standard error, in lines that end between words; and the standard streams, whatever
the process was started with: closed ones, whose place would be taken by the next files that are
opened, and those that cannot write every character."""

from __future__ import annotations

import codecs
import io
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


STREAMS = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))
"""By their descriptors, each with how it is opened in the place of a closed one. What is written to
standard output then fails, as nobody would see it; messages are dropped."""

PLAIN = {"±": "+-", "×": "x", "…": "...", "≤": "<=", "≥": ">=", "–": "-", "µ": "u", "’": "'"}
"""Characters of tables in ASCII; any other is written as in JSON."""

ERRORS = "opperf-plain"
"""Name of the handler of characters that a stream's encoding does not have."""


def prepare_streams() -> None:
    """Opens the standard streams that are closed, and has each write every text."""
    codecs.register_error(ERRORS, _plain)
    for number, (name, mode, flags) in enumerate(STREAMS):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is that of the closed one.
            os.set_inheritable(os.open(os.devnull, flags), True)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        stream = getattr(sys, name)
        if mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)


def discard_output() -> None:
    """Drops what is not written yet, and all that is written after, where it cannot be written: at
    the end of the process Python would try again, and end with another exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(PLAIN.get(letter) or _escaped(letter) for letter in wrong), error.end


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    pairs = (units[place : place + 2] for place in range(0, len(units), 2))
    return "".join(f"\\u{int.from_bytes(pair, 'big'):04x}" for pair in pairs)
