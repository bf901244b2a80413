"""The JSON files of a trace: one, plain or compressed, or those in an archive or a folder, one
for each rank, and the contents of integer tensors in files beside it. Nothing of an archive is
extracted."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast

from opperf.dtypes import DTYPES
from opperf.errors import UsageError, one_line
from opperf.reading import open_file, read_bytes
from opperf.traces.values import Placed, Unbuildable, dtype_of

GZIP = b"\x1f\x8b"
"""The first bytes of a compressed file."""

TAR, TAR_AT = b"ustar", 257
"""The word in the header of an archive, and where it is."""

LARGEST = 1 << 30
"""Most bytes of a trace's JSON that are read: the largest traces of training jobs have some hundred
megabytes, and a compressed file of any size can pretend to have more."""

MOST_UNPACKED = 100
"""Most bytes of a trace for each that is read of its compressed file: those of real programs have
10 to 30, and gzip gives up to a thousand, so that a small file takes gigabytes."""

UNPACKED_IN_ANY_CASE = 160 << 10
"""Compressed bytes up to which any number of times is read: 16 MB take a second."""

MOST_PAST_END = 100
"""Reads behind the end of an archive: that of its last block needs a few."""

RANK = re.compile(r"rank[-_]?(\d+)", re.IGNORECASE)
"""The rank in a file's name, as `rank-3.json`."""

JSON_ENDS = (".json", ".json.gz")
ARCHIVE_ENDS = (".tar.gz", ".tgz", ".tar")

HEAD = 1 << 16
"""Bytes at the beginning of a file by which it is recognised, and that are read ahead."""

FAILURES = (OSError, EOFError, zlib.error, tarfile.TarError)
"""Errors of files and archives that are damaged."""


class Member(NamedTuple):
    """A JSON file of a trace, opened."""

    name: str
    rank: int | None
    """Rank of the process, if the name has it."""
    stream: io.BufferedReader
    contents: Contents
    """Contents of integer inputs that are beside it."""


def rank_in(name: str) -> int | None:
    """Returns the rank in a file's name; None without one."""
    match = RANK.search(PurePosixPath(name).name)
    return int(match[1]) if match else None


def open_members(path: Path) -> Iterator[Member]:
    """Yields the traces among the JSON files of a path, each open until the next one is asked for.

    Raises `UsageError` for a file that cannot be read.
    """
    for file in folder_files(path) if path.is_dir() else [path]:
        with readable(file), open_decompressed(file) as stream:
            if not is_archive(stream):
                yield Member(str(file), rank_in(file.name), stream, in_folder(file))
                continue
            with open_decompressed(file) as again, _archive(again) as archive:
                contents = in_archive(archive)
            with _archive(stream) as archive:
                for name, content in _json_files(archive):
                    if is_beginning(content):
                        yield Member(f"{file}:{name}", rank_in(name), content, contents)


def _archive(stream: io.BufferedReader) -> tarfile.TarFile:
    """Returns an archive that is passed through once, and so is neither held nor unpacked."""
    return tarfile.open(fileobj=cast(BinaryIO, _Bounded(stream)), mode="r|")


class _Bounded:
    """A stream that ends with an error behind `LARGEST` bytes, and where it is read on behind its
    end, as an archive is whose header has a size that is not there."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._bytes = 0
        self._past_end = 0

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._bytes += len(content)
        if self._bytes > LARGEST:
            raise tarfile.ReadError(f"it has more than {LARGEST >> 30} GiB, the most read")
        self._past_end = 0 if content else self._past_end + 1
        if self._past_end > MOST_PAST_END:
            raise EOFError("it ends within a file of it")
        return content


def _json_files(archive: tarfile.TarFile) -> Iterator[tuple[str, io.BufferedReader]]:
    for entry in archive:
        content = archive.extractfile(entry) if entry.isreg() else None
        if content is not None and entry.name.endswith(JSON_ENDS):
            yield entry.name, _plain(cast(BinaryIO, content))


def is_trace(path: Path) -> bool:
    """Whether a file, or one in an archive, begins as a trace does."""
    with open_decompressed(path) as stream:
        if not is_archive(stream):
            return is_beginning(stream)
        with _archive(stream) as archive:
            return any(is_beginning(content) for _, content in _json_files(archive))


EXECUTION_TRACE = re.compile(rb'"nodes"\s*:\s*\[\s*(\{|\])')
SCHEMA = re.compile(rb'"schema"\s*:\s*"\d')
EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[|"deviceProperties"\s*:|^\s*\[\s*\{[^{}]*"ph"\s*:')


def is_beginning(stream: io.BufferedReader) -> bool:
    """Whether an open file begins as a trace does; nothing of it is consumed."""
    head = stream.peek(HEAD)[:HEAD]
    return bool(EVENTS.search(head) or (EXECUTION_TRACE.search(head) and SCHEMA.search(head)))


def folder_files(folder: Path) -> list[Path]:
    """Returns the traces and archives in a folder, by rank. Raises `UsageError`."""
    found = []
    with readable(folder):
        for file in folder.iterdir():
            if file.name.endswith((*JSON_ENDS, *ARCHIVE_ENDS)) and file.is_file():
                with readable(file):
                    found += [file] if is_trace(file) else []
    return sorted(found, key=lambda file: (rank_in(file.name) or 0, file.name))


@contextmanager
def readable(name: str | Path) -> Iterator[None]:
    """Makes the errors of reading a file `UsageError`s."""
    try:
        yield
    except FAILURES as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{name} cannot be read: {one_line(text)}") from None


@contextmanager
def open_decompressed(path: Path) -> Iterator[io.BufferedReader]:
    """Opens a file, decompressed if it is compressed."""
    with open_file(path) as file:
        yield _plain(file)


def _plain(file: BinaryIO) -> io.BufferedReader:
    """Can look ahead; decompressed if it is compressed."""
    ahead: io.BufferedReader = io.BufferedReader(cast(io.RawIOBase, file), HEAD)
    if ahead.peek(len(GZIP))[: len(GZIP)] != GZIP:
        return ahead
    content = _Decompressed(_Counted(ahead))
    plain: io.BufferedReader = io.BufferedReader(cast(io.RawIOBase, content), HEAD)
    # Nothing of an archive is kept but its traces, and files of zeros may be in it.
    content.is_archive = is_archive(plain)
    return plain


class _Counted:
    """A compressed file, with the number of bytes that were read of it."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.bytes = 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.bytes += len(content)
        return content


class _Decompressed(io.RawIOBase):
    """Gives all that precedes the place at which a file was cut short, then `EOFError`."""

    def __init__(self, packed: _Counted) -> None:
        self._packed = packed
        self._file = gzip.GzipFile(fileobj=cast(BinaryIO, packed))
        self._bytes = 0
        self.is_archive = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        done = 0
        while done < len(target):
            try:
                piece = self._file.read1(len(target) - done)
            except EOFError:
                if done:
                    break
                raise
            if not piece:
                break
            target[done : done + len(piece)] = piece
            done += len(piece)
        self._bytes += done
        if not self.is_archive and self._bytes > MOST_UNPACKED * max(
            self._packed.bytes, UNPACKED_IN_ANY_CASE
        ):
            raise OSError(
                f"it is {MOST_UNPACKED} times as large as its compressed file or larger, as no "
                "trace is"
            )
        return done


def is_archive(stream: io.BufferedReader) -> bool:
    """Whether an open file is an archive; nothing of it is consumed."""
    head = stream.peek(TAR_AT + len(TAR))
    return head[TAR_AT : TAR_AT + len(TAR)] == TAR


NAME = re.compile(r"nid_(\d+)_tid_(\d+)\.dat")
"""The file of a node's input, by the numbers of the node and of the tensor among its inputs."""

FOLDER_END = "_resources"
"""End of the name of a trace's folder of such files."""

MOST_CONTENTS = 64 << 20
"""Most bytes that are read of a file, or of all in an archive: indices of a batch have fewer."""

Range = tuple[int, int]


Contents = Mapping[tuple[int, int], "bytes | Path"]
"""Files of inputs, or what is in them, by the numbers of node and tensor."""


def in_folder(trace: Path) -> Contents:
    """Returns the files beside a trace's file."""
    # PyTorch omits one extension, and the trace may have been compressed later.
    stems = dict.fromkeys((trace.stem, trace.name.removesuffix(".gz").removesuffix(".json")))
    found: dict[tuple[int, int], bytes | Path] = {}
    for folder in (trace.parent / f"{stem}{FOLDER_END}" for stem in stems):
        for file in folder.glob("nid_*.dat") if folder.is_dir() else ():
            match = NAME.fullmatch(file.name)
            if match and file.is_file() and file.stat().st_size <= MOST_CONTENTS:
                found[int(match[1]), int(match[2])] = file
    return found


def in_archive(archive: tarfile.TarFile) -> Contents:
    """Returns what is in the files of an archive, up to `MOST_CONTENTS` bytes together."""
    found: dict[tuple[int, int], bytes | Path] = {}
    total = 0
    for entry in archive:
        match = NAME.fullmatch(PurePosixPath(entry.name).name)
        if match is None or not entry.isreg() or total + entry.size > MOST_CONTENTS:
            continue
        file = archive.extractfile(entry)
        if file is not None:
            found[int(match[1]), int(match[2])] = file.read()
            total += entry.size
    return found


def ranges_of(node: int, tensors: Sequence[Placed], contents: Contents) -> dict[int, Range]:
    """Returns the smallest and the largest number of a node's integer inputs that have a file, by
    their positions among its tensors. A view's file is not used: its writer takes the offset of
    elements for one of bytes."""
    import numpy as np

    found: dict[int, Range] = {}
    for position, ref, kind in tensors:
        content = contents.get((node, position))
        if content is None or ref.offset:
            continue
        try:
            dtype = dtype_of(kind)
        except Unbuildable:
            continue
        if DTYPES[dtype].kind != "integer":
            continue
        size = DTYPES[dtype].bytes
        raw = read_bytes(content, MOST_CONTENTS) if isinstance(content, Path) else content
        numbers = np.frombuffer(raw[: len(raw) // size * size], dtype)[: ref.size]
        if len(numbers):
            found[position] = int(numbers.min()), int(numbers.max())
    return found
