"""Opens files that users name: what has no end, or is larger than a bound, is refused before it
takes the machine's memory or waits for a writer that never comes."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

MIB = 1 << 20

WRITTEN_BY_HAND = 16 * MIB
"""Most bytes of a file that people write, as suites, settings, configurations and Python: the
longest have some hundred kilobytes."""

READ_WHOLE = 128 * MIB
"""Most bytes of a file that a program writes and that is parsed as a whole, as JSON of other tools:
those of years of a project have some ten megabytes, and parsing takes ten times a file's size."""

LONGEST_LINE = READ_WHOLE
"""Most bytes of a line of a file of lines, which may have any number of them: a record with the
samples of a million calls has 20 MB, and a file that is read whole may be of one line."""

LONGEST_FIRST = 16 * MIB
"""Most bytes of a first line by which a file is recognised: headers have some ten kilobytes."""

CHUNK = MIB
"""Bytes that are read at a time: a refused file costs no more than its bound."""

KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISSOCK: "a socket",
    stat.S_ISFIFO: "a named pipe",
}
"""Names of what is no file, by the function that says so."""


class RefusedError(OSError):
    """A file that is not read. As of any `OSError`, `strerror` is the reason: whoever says why a
    file cannot be read says this too."""

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


def open_file(path: str | Path) -> BinaryIO:
    """Opens a regular file, or a pipe without a name, as a shell gives it: `<(...)`, `/dev/stdin`.
    Raises `OSError`, for anything else too."""
    check_kind(path)
    return Path(path).open("rb")


def check_kind(path: str | Path) -> None:
    """Raises `OSError` for what is neither a regular file nor a pipe without a name."""
    mode = Path(path).stat().st_mode
    if stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and not _has_name(path)):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = next((name for is_one, name in KINDS.items() if is_one(mode)), "something else")
    raise RefusedError(path, f"it is {kind}, not a file")


SQLITE = b"SQLite format 3\0"
"""Beginning of every database of SQLite that is not empty."""


def check_database(path: str | Path) -> None:
    """Raises `OSError` for what is no file with a database of SQLite: reading another one may take
    for ever. An empty file is an empty database."""
    check_kind(path)
    with Path(path).open("rb") as file:
        if file.read(len(SQLITE)) not in (SQLITE, b"") or not stat.S_ISREG(
            Path(path).stat().st_mode
        ):
            raise RefusedError(path, "file is not a database")


def _has_name(path: str | Path) -> bool:
    """Whether a pipe is in the file system, where any process or none may write to it."""
    return os.path.lexists(os.path.realpath(path))


def read_bytes(path: str | Path, most: int) -> bytes:
    """Returns the content of a file of at most `most` bytes. Raises `OSError`, for a larger one
    too."""
    with open_file(path) as file:
        # A regular file is refused without reading; one in /proc has no size, and a pipe neither.
        if os.fstat(file.fileno()).st_size > most:
            raise too_large(path, most)
        parts, size = [], 0
        while part := file.read(CHUNK):
            size += len(part)
            if size > most:
                raise too_large(path, most)
            parts.append(part)
    return b"".join(parts)


def read_text(path: str | Path, most: int = WRITTEN_BY_HAND, errors: str = "strict") -> str:
    """Returns the text of a file of UTF-8, with `\\n` as the end of lines, as `read_bytes`. Raises
    `UnicodeDecodeError` too."""
    text = read_bytes(path, most).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def lines_of(path: str | Path) -> Iterator[bytes]:
    """Yields the lines of a file, each with its end. Raises `OSError`, for one that is longer than
    `LONGEST_LINE` too."""
    with open_file(path) as file:
        while line := file.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                longest = shown(LONGEST_LINE)
                raise RefusedError(path, f"it has a line of more than {longest}, the most read")
            yield line


def first_line(path: str | Path) -> bytes:
    """Returns the first line of a file, or the `LONGEST_FIRST` bytes with which it begins: those of
    another form may be a single line. Raises `OSError`."""
    with open_file(path) as file:
        return file.readline(LONGEST_FIRST)


def too_large(path: str | Path, most: int) -> RefusedError:
    """Returns the error for a file of more than `most` bytes."""
    return RefusedError(path, f"it has more than {shown(most)}, the most read of such a file")


def shown(size: int) -> str:
    """Returns a number of bytes as a message has it."""
    return f"{size // MIB} MiB" if size >= MIB else f"{size} bytes"


def is_writable(value: Any) -> bool:
    """Whether the texts of a value of JSON are whole characters: no file in UTF-8 and no database
    has half of one."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
