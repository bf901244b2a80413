"""The output of a program: lines of its descriptors, and files of its events, each written as soon
as it is said. What was written before a full disk, or the end of this process, is whole."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opperf.errors import OutputError
from opperf.formats.milabench.streams import MESSAGE, Event, encode_event

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


MODE = 0o644

MOST_PRINTED_BYTES = 64 * 2**20
"""Most that a stream keeps of what its program prints: a program may print without end. Everything
else is kept in any case."""


class StreamWriter:
    """Appends events to a new file; with None for a path, to none. Raises `OutputError` if the file
    cannot be created; later errors are in `lost`."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.lost = 0
        """Number of events that could not be written."""
        self.error = ""
        """Why not, for the first of them."""
        self._said = 0
        self._file = -1
        self._printed = 0
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, MODE)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}") from error

    def write(self, name: str, data: Any = None, pipe: Any = None) -> None:
        """Appends an event, and flushes it."""
        if self._file < 0:
            return
        if self.lost > self._said:
            loss = f"{self.lost} events are not here: {self.error}"
            self._said = self.lost if self._append(Event(MESSAGE, loss)) else self._said
        if not self._append(Event(name, data, pipe)):
            self.lost += 1

    def write_printed(self, name: str, text: str, pipe: str) -> None:
        """Appends what the program printed, up to `MOST_PRINTED_BYTES` of it."""
        before = self._printed
        self._printed += len(text)
        if self._printed <= MOST_PRINTED_BYTES:
            self.write(name, text, pipe)
        elif before <= MOST_PRINTED_BYTES:
            self.write(MESSAGE, f"output after {MOST_PRINTED_BYTES >> 20} MiB is not kept")

    def _append(self, event: Event) -> bool:
        data = encode_event(event)
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError as error:
            self.error = self.error or str(error.strerror)
            if written:
                # Half a line would be the beginning of the next one.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            return False
        return True

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def new_path(folder: Path, stem: str) -> Path:
    """Returns the path of a stream that does not exist yet: `STEM.jsonl`, or `STEM.R1.jsonl` where
    the same case was measured before."""
    path, repeat = folder / f"{stem}.jsonl", 0
    while path.exists():
        repeat += 1
        path = folder / f"{stem}.R{repeat}.jsonl"
    return path
