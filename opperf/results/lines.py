"""Files of JSON lines that are written while something lasts: appended, locked, repaired.

A line counts once its newline is on disk. Whatever follows the last newline was cut short by a
crash, and is dropped with a warning; every other fault is an error with its line. The first line
is a header, which tells the kind of file and the version it is written in.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from opperf.errors import OutputError, RunFileError, one_line
from opperf.model import Struct
from opperf.results.unwritable import unwritable

T = TypeVar("T")


@dataclass(frozen=True)
class FileKind:
    """What tells files of one kind from others."""

    name: str
    """As users call it."""
    writer: str
    """The command that writes them."""
    header: str
    """What the first line says that it is."""
    schema: int
    """Version of the lines that this opperf reads and writes."""
    type: Any
    """Type of the first line."""


class LineFile(AbstractContextManager["LineFile"]):
    """A file of lines, open for appending. Holds an exclusive lock on it until it is closed."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._size = 0

    @classmethod
    def create(cls, path: Path, *first: Struct, overwrite: bool = False) -> LineFile:
        """A new file with these first lines, all of them or none.

        Raises `OutputError` if it exists and may not be replaced, or cannot be written, and
        `RunFileError` if another process is writing to it.
        """
        exclusive = 0 if overwrite else os.O_EXCL
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | exclusive, 0o666)
        except FileExistsError as error:
            raise OutputError(
                f"{path} exists; give --overwrite to replace it, or --resume to go on with it"
            ) from error
        except OSError as error:
            raise unwritable(path, error) from error
        file = cls(path, descriptor)
        try:
            # Emptied only once it is locked: until then it may be another process's.
            _lock(descriptor, path)
            try:
                file.cut(0)
                file.append(*first)
            except BaseException:
                _remove_empty(path)
                raise
        except BaseException:
            file.close()
            raise
        return file

    @classmethod
    def open(cls, path: Path) -> LineFile:
        """A file that exists, to be read and `cut` before it is continued.

        Raises `RunFileError` if it cannot be opened or is in use.
        """
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError as error:
            raise RunFileError(f"{path} cannot be resumed: {error.strerror}") from error
        try:
            _lock(descriptor, path)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and let others have it."""
        os.close(self._descriptor)

    def append(self, *lines: Struct) -> None:
        """Append lines, and wait until they are on disk. Raises `OutputError` if they cannot be
        written; the file then ends where it ended before."""
        data = b"".join(map(encode_line, lines))
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        except OSError as error:
            # A full disk takes part of a line; readers are to find whole lines only.
            self.cut(self._size)
            raise unwritable(self.path, error) from error
        self._size += len(data)

    def cut(self, size: int) -> None:
        """Leave the first `size` bytes, and go on after them. Raises `OutputError`."""
        try:
            os.ftruncate(self._descriptor, size)
            os.lseek(self._descriptor, size, os.SEEK_SET)
        except OSError as error:
            raise unwritable(self.path, error) from error
        self._size = size


class Resumable(Protocol):
    """What was read from a file that a writer goes on with."""

    @property
    def kept_bytes(self) -> int: ...


K = TypeVar("K", bound=Resumable)


def reopen(path: Path, parse: Callable[[Path], K]) -> tuple[LineFile, K]:
    """A file to go on with, and what is in it; what is not kept is cut off.

    Raises `RunFileError` if it cannot be read or is in use.
    """
    file = LineFile.open(path)
    try:
        content = parse(path)
        file.cut(content.kept_bytes)
    except BaseException:
        file.close()
        raise
    return file, content


@dataclass(frozen=True)
class NumberedLine(Generic[T]):
    """A line that was read: its place, what it says, and the bytes that it takes."""

    number: int
    value: T
    size: int


@dataclass(frozen=True)
class Content(Generic[T]):
    """A file's lines."""

    header: NumberedLine[Any]
    lines: list[NumberedLine[T]]
    warnings: list[str]


def read_lines(path: Path, kind: FileKind, decode: Callable[[bytes], T]) -> Content[T]:
    """A file's lines, and warnings about what was cut short.

    `decode` makes a line out of its bytes and raises `msgspec.DecodeError` or
    `UnicodeDecodeError` for what is none. Raises `RunFileError` for a file that cannot be
    trusted, with the line at fault.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error
    whole = data.rfind(b"\n") + 1
    texts = data[:whole].splitlines(keepends=True)
    if not texts:
        what = "the header is cut short" if data else "the file is empty"
        raise RunFileError(f"{path}:1: not a {kind.name}: {what}")
    header = NumberedLine(1, _header(path, texts[0], kind), len(texts[0]))
    torn = whole < len(data)
    lines: list[NumberedLine[T]] = []
    for number, text in enumerate(texts[1:], 2):
        try:
            lines.append(NumberedLine(number, decode(text), len(text)))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if number == len(texts) and not torn and not _is_json(text):
                torn = True
                break
            raise RunFileError(
                f"{path}:{number}: not a {kind.name}'s line: {one_line(str(error))}"
            ) from error
    warnings = [f"{path}: the last line was cut short and is left out"] if torn else []
    return Content(header, lines, warnings)


def encode_line(line: Struct) -> bytes:
    """A line as it is in the file, its newline included."""
    return msgspec.json.encode(line) + b"\n"


class _Probe(Struct, frozen=True):
    """What every version of every kind has, to tell another version from another kind."""

    line: str
    schema: int


def _header(path: Path, text: bytes, kind: FileKind) -> Any:
    try:
        probe = msgspec.json.decode(text, type=_Probe)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunFileError(f"{path}:1: not a {kind.name}: the first line is no header") from error
    if probe.line != kind.header:
        raise RunFileError(
            f"{path}:1: not a {kind.name}, which `{kind.writer}` writes: its first line is of the "
            f"kind {one_line(probe.line, 40)!r}"
        )
    if probe.schema != kind.schema:
        raise RunFileError(
            f"{path}:1: written in version {probe.schema} of the {kind.name} and this opperf "
            f"reads version {kind.schema}; read it with the opperf that wrote it"
        )
    try:
        return msgspec.json.decode(text, type=kind.type)
    except msgspec.DecodeError as error:
        raise RunFileError(f"{path}:1: the header is damaged: {one_line(str(error))}") from error


def check_free(path: Path) -> None:
    """Raise `RunFileError` if another process is writing to a file, or it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            # An exclusive lock needs a file that is open for writing, on some network disks.
            _lock(file.fileno(), path, fcntl.LOCK_SH)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error


def _lock(descriptor: int, path: Path, kind: int = fcntl.LOCK_EX) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise RunFileError(
                f"{path} is being written by another opperf; wait for it, or choose another "
                "output file"
            ) from error
        raise unwritable(path, error) from error


def _remove_empty(path: Path) -> None:
    """Remove a file that has come to hold nothing, as it would keep the next attempt from
    starting. A device is left where it is, and so is a link."""
    found = os.lstat(path)
    if stat.S_ISREG(found.st_mode) and not found.st_size:
        Path(path).unlink()


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
