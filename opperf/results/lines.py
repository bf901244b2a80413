"""Run files as lines of JSON, to which a process appends: locked, synced to disk, repaired after a
crash.

A line is complete with its newline. Bytes after the last newline were cut short by a crash, and are
dropped with a warning; any other fault is an error with the line's number. The first line is a
header with the kind of file and the version of its schema.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.decoding import decode, decode_as
from opperf.errors import OutputError, RunFileError, one_line
from opperf.folders import part_folder, remove_parts
from opperf.model import SCHEMA_VERSION, Closing, Header, Struct
from opperf.reading import check_kind, lines_of, open_file
from opperf.results.output import replaceable, unwritable


class LineFile(AbstractContextManager["LineFile"]):
    """A file of lines, open for appending, with an exclusive lock until it is closed."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._size = 0

    @classmethod
    def create(cls, path: Path, first: bytes, overwrite: bool = False) -> LineFile:
        """Creates a file with these whole lines, in one step: no process sees a part of them.
        Raises `OutputError` if it exists or cannot be written, and `RunFileError` if another
        process is writing to it."""
        target = replaceable(path)
        with ExitStack() as failing:
            try:
                with part_folder(target.parent) as folder:
                    part = folder / target.name
                    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
                    file = failing.enter_context(cls(path, descriptor))
                    _lock(descriptor, path)
                    file.append(first)
                    if overwrite and target.exists():
                        with cls.open(target):
                            part.replace(target)
                    else:
                        _link(part, target)
            except FileExistsError as error:
                raise OutputError(
                    f"{path} exists; add --overwrite to replace it, or --resume to finish it"
                ) from error
            except OSError as error:
                raise unwritable(path, error) from error
            failing.pop_all()
        return file

    @classmethod
    def open(cls, path: Path) -> LineFile:
        """Opens an existing file. Raises `RunFileError` if it cannot be opened or is in use."""
        try:
            check_kind(path)
            descriptor = os.open(path, os.O_RDWR)
        except OSError as error:
            raise RunFileError(f"{path} cannot be resumed: {error.strerror}") from error
        try:
            _lock(descriptor, path)
            if not os.path.samestat(os.fstat(descriptor), path.stat()):
                # Another process has just put its own in this one's place.
                raise RunFileError(f"{path} {IN_USE}")
            # Of a process that was killed right after it had made the file.
            remove_parts(path.parent)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)

    def append(self, data: bytes) -> None:
        """Appends whole lines to the disk, or raises `OutputError` with the file as before."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        except OSError as error:
            # A full disk may have taken a part of a line.
            self.cut(self._size)
            raise unwritable(self.path, error) from error
        self._size += len(data)

    def cut(self, size: int) -> None:
        """Cuts the file to `size` bytes; later lines follow them. Raises `OutputError`."""
        try:
            os.ftruncate(self._descriptor, size)
            os.lseek(self._descriptor, size, os.SEEK_SET)
        except OSError as error:
            raise unwritable(self.path, error) from error
        self._size = size


class Content(NamedTuple):
    """The lines of a run file."""

    header: Header
    lines: list[tuple[int, Any]]
    """Each with its number; those between the header and the closing line."""
    closing: Closing | None
    kept_bytes: int
    """Bytes before a closing line or a torn last line, which resuming cuts off."""
    warnings: list[str]


def read_lines(path: Path, decode: Callable[[bytes], Any]) -> Content:
    """Returns a file's lines, and a warning if the last one was cut short. `decode` raises
    `DecodeError`. Raises `RunFileError` with the line at fault."""
    texts = _texts(path)
    first = next(texts, b"")
    if not first.endswith(b"\n"):
        what = "the header is cut short" if first else "the file is empty"
        raise RunFileError(f"{path}:1: not a run file: {what}")
    header, kept = _header(path, first), len(first)
    closing, lines, warnings = None, [], []
    for number, text in enumerate(texts, 2):
        line = None
        if text.endswith(b"\n"):
            try:
                line = decode(text)
            except msgspec.DecodeError as error:
                if _is_json(text) or next(texts, None) is not None:
                    raise RunFileError(
                        f"{path}:{number}: not a line of a run file: {one_line(str(error))}"
                    ) from error
        if line is None:
            warnings.append(f"{path}: the last line was cut short and is ignored")
            break
        if closing is not None or isinstance(line, Header):
            what = "a second header" if closing is None else "after the closing line"
            raise RunFileError(f"{path}:{number}: {what}; two runs seem to be in one file")
        if isinstance(line, Closing):
            closing = line
        else:
            lines.append((number, line))
            kept += len(text)
    return Content(header, lines, closing, kept, warnings)


def _texts(path: Path) -> Iterator[bytes]:
    """Yields the lines of a file. Raises `RunFileError` if it cannot be read."""
    try:
        yield from lines_of(path)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error


def encode_lines(*lines: Struct) -> bytes:
    """Returns the bytes of lines in the file, each with its newline."""
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


class _Probe(Struct, frozen=True):
    """The fields of a header that every version has."""

    line: str
    schema: int


def _header(path: Path, text: bytes) -> Header:
    try:
        probe = decode_as(text, _Probe)
    except msgspec.DecodeError as error:
        is_param = text.startswith(PARAM_RESULTS)
        instead = "results in PARAM's format (-f param), " if is_param else ""
        raise RunFileError(
            f"{path}:1: {instead}not an opperf run file; write one with opperf run -f jsonl; "
            "`opperf runs` lists those that are kept"
        ) from error
    if probe.line != "header":
        raise RunFileError(
            f"{path}:1: not a run file, which `opperf run -f jsonl` writes: its first line is of "
            f"the kind {one_line(probe.line, 40)!r}"
        )
    if probe.schema != SCHEMA_VERSION:
        raise RunFileError(
            f"{path}:1: written in version {probe.schema} of the run file and this opperf reads "
            f"version {SCHEMA_VERSION}; read it with the opperf that wrote it"
        )
    try:
        return decode_as(text, Header)
    except msgspec.DecodeError as error:
        raise RunFileError(f"{path}:1: the header is damaged: {one_line(str(error))}") from error


PARAM_RESULTS = b'{"run_options"'
"""Beginning of results in PARAM's format."""


def check_free(path: Path) -> None:
    """Raises `RunFileError` if another process is writing to a file, or it cannot be read."""
    try:
        with open_file(path) as file:
            # A shared lock, as some network disks require a writable file for an exclusive one.
            _lock(file.fileno(), path, fcntl.LOCK_SH)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error


IN_USE = "is being written by another opperf; wait for it, or choose another output file"


def _lock(descriptor: int, path: Path, kind: int = fcntl.LOCK_EX) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise RunFileError(f"{path} {IN_USE}") from error
        raise unwritable(path, error) from error


def _link(part: Path, target: Path) -> None:
    """Gives a file the name of one that does not exist. Raises `OSError`."""
    try:
        # Fails for a name that is there, in one step.
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:
        # Some disks have no links.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        part.rename(target)


def _is_json(text: bytes) -> bool:
    try:
        decode(msgspec.json.decode, text)
    except msgspec.DecodeError:
        return False
    return True
