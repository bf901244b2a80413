"""Splits what a process writes into lines, whatever it writes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

READ_BYTES = 1 << 16

LONGEST_LINE = 1 << 16
"""Bytes after which a line without an end is cut, as a program may print one without end."""

MOST_READS = 256
"""Reads of what an ended process has left in a pipe, which holds a sixteenth of that or less."""

LONGEST_DATA = 1 << 20
"""The same for events, which a cut would make unreadable; those of real programs are shorter."""

ENDS = re.compile(rb"\r\n|\n|\r")
"""Ends of lines: a progress bar returns to the begin of its own."""


class LineReader:
    """Reads lines from a descriptor without waiting. Lines keep their ends."""

    def __init__(self, descriptor: int, longest: int = LONGEST_LINE) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor, self._longest = descriptor, longest
        self._buffer = b""
        self.is_open = True

    def read(self) -> list[bytes] | None:
        """Returns the lines that are complete after one read, at the end of the file the rest; None
        if there is nothing to read now."""
        try:
            data = os.read(self.descriptor, READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            return self.close()
        self._buffer += data
        return self._take()

    def _take(self) -> list[bytes]:
        lines, begin = [], 0
        for end in ENDS.finditer(self._buffer):
            # A carriage return at the end may be the first half of an end.
            if end.group() == b"\r" and end.end() == len(self._buffer):
                break
            lines.append(self._buffer[begin : end.end()])
            begin = end.end()
        self._buffer = self._buffer[begin:]
        if len(self._buffer) >= self._longest:
            lines.append(self._buffer)
            self._buffer = b""
        return lines

    def drain(self) -> Iterator[bytes]:
        """Yields all that is there, of a process that has ended, and closes the descriptor. One
        that it has started may still write, without end."""
        for _ in range(MOST_READS):
            lines = self.read() if self.is_open else None
            if lines is None:
                break
            yield from lines
        yield from self.close()

    def close(self) -> list[bytes]:
        """Closes the descriptor, and returns the rest."""
        if self.is_open:
            os.close(self.descriptor)
        self.is_open = False
        rest, self._buffer = self._buffer, b""
        return [rest] if rest else []


def decode_line(line: bytes) -> str | None:
    """Returns the text of a line; None for bytes that are no text."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None
