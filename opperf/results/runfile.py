"""The run file: a header, a line of JSON per record, and a closing line if it was finished.

A line counts once its newline is on disk. Whatever follows the last newline was cut short
by a crash, and is dropped with a warning; every other fault is an error with its line.

JSON has no word for NaN and the infinities. They are written as null, and the null of a
number is read as NaN: that it was not a finite number survives, which one does not.
"""

from __future__ import annotations

import errno
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from opperf.errors import OutputError, RunFileError, one_line
from opperf.model import SCHEMA_VERSION, Closing, Header, Record, RecordLine, Run, Struct

Line = Header | RecordLine | Closing

NUMBERS = ("mean", "median", "min", "max", "p50", "p90", "p99", "mad", "ci_low", "ci_high")
"""Fields of a summary that are floats."""


class _Probe(Struct, frozen=True):
    """What every schema version has, to tell another version from another kind of file."""

    line: str
    schema: int


_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


@dataclass(frozen=True)
class _Content:
    """A run file as read, and how much of it a writer that goes on may keep."""

    run: Run
    kept_bytes: int
    """Up to the end of the last record, without a closing line or a torn tail."""
    warnings: list[str]


class RunWriter:
    """Appends records to a run file, each on disk before the next case begins.

    Holds an exclusive lock on the file until it is closed.
    """

    def __init__(self, path: Path, descriptor: int, size: int, warnings: list[str]) -> None:
        self.path = path
        self.warnings = warnings
        """What had to be repaired before the file could be continued."""
        self._descriptor = descriptor
        self._size = size

    @classmethod
    def create(cls, path: Path, header: Header, overwrite: bool = False) -> RunWriter:
        """A new run file with this header.

        Raises `OutputError` if it exists and may not be replaced, or cannot be written, and
        `RunFileError` if another process is writing to it.
        """
        flags = os.O_RDWR | os.O_CREAT | (0 if overwrite else os.O_EXCL)
        try:
            descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
        except FileExistsError as error:
            raise OutputError(
                f"{path} exists; give --overwrite to replace it, or --resume to go on with it"
            ) from error
        except OSError as error:
            raise _unwritable(path, error) from error
        writer = cls(path, descriptor, 0, [])
        try:
            # Emptied only once it is locked: until then it may be another process's.
            _lock(descriptor, path)
            writer._cut(0)
            writer._append(header)
        except BaseException:
            os.close(descriptor)
            if not overwrite:
                # Made just now; left empty, it would keep the next attempt from starting.
                Path(path).unlink(missing_ok=True)
            raise
        return writer

    @classmethod
    def resume(cls, path: Path) -> RunWriter:
        """Go on with a run file: a torn last line and a closing line are cut off.

        What was repaired is in `warnings`. Raises `RunFileError` if the file cannot be read
        or is in use.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise RunFileError(f"{path} cannot be resumed: {error.strerror}") from error
        try:
            _lock(descriptor, path)
            content = _parse(path, _read(path))
            writer = cls(path, descriptor, content.kept_bytes, content.warnings)
            writer._cut(content.kept_bytes)
        except BaseException:
            os.close(descriptor)
            raise
        return writer

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def record(self, record: Record) -> None:
        """Append a record. Raises `OutputError` if it cannot be written."""
        self._append(RecordLine(record=record))

    def close_run(self, closing: Closing) -> None:
        """Append the closing line: the run is finished."""
        self._append(closing)

    def _append(self, line: Line) -> None:
        data = encode_line(line)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        except OSError as error:
            # A full disk takes part of a line; readers are to find whole lines only.
            self._cut(self._size)
            raise _unwritable(self.path, error) from error
        self._size += len(data)

    def _cut(self, size: int) -> None:
        try:
            os.ftruncate(self._descriptor, size)
            os.lseek(self._descriptor, size, os.SEEK_SET)
        except OSError as error:
            raise _unwritable(self.path, error) from error


def encode_line(line: Line) -> bytes:
    """A line as it is in the file, its newline included."""
    return msgspec.json.encode(line) + b"\n"


def read_run(path: Path) -> tuple[Run, list[str]]:
    """A run file's content, and warnings about what was cut short.

    Of two records with one id the later counts, in the earlier's place: it is a retry.
    Raises `RunFileError` for a file that cannot be trusted, with the line at fault.
    """
    content = _parse(path, _read(path))
    return content.run, content.warnings


def _read(path: Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise RunFileError(
                f"{path} is being written by another opperf; wait for it, or choose another "
                "output file"
            ) from error
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path} cannot be written: {error.strerror}")


def _parse(path: Path, data: bytes) -> _Content:
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines(keepends=True)
    if not lines:
        what = "the header is cut short" if data else "the file is empty"
        raise RunFileError(f"{path}:1: not a run file: {what}")
    header = _header(path, lines[0])
    torn = whole < len(data)
    kept = len(lines[0])
    records: dict[str, Record] = {}
    closing: Closing | None = None
    for number, text in enumerate(lines[1:], 2):
        try:
            line = _decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if number == len(lines) and not torn and not _is_json(text):
                torn = True
                break
            raise RunFileError(f"{path}:{number}: not a run file's line: {error}") from error
        if closing is not None or isinstance(line, Header):
            kind = "after the closing line" if closing is not None else "a second header"
            raise RunFileError(f"{path}:{number}: {kind}; two runs seem to be in one file")
        if isinstance(line, Closing):
            closing = line
            continue
        records[line.record.id] = line.record
        kept += len(text)
    warnings = [f"{path}: the last line was cut short and is left out"] if torn else []
    return _Content(Run(header, tuple(records.values()), closing), kept, warnings)


def _header(path: Path, text: bytes) -> Header:
    try:
        probe = msgspec.json.decode(text, type=_Probe)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunFileError(f"{path}:1: not a run file: the first line is no header") from error
    if probe.line == "header" and probe.schema != SCHEMA_VERSION:
        raise RunFileError(
            f"{path}:1: written in version {probe.schema} of the run file and this opperf "
            f"reads version {SCHEMA_VERSION}; read it with the opperf that wrote it"
        )
    try:
        line = _LINE.decode(text)
    except msgspec.DecodeError as error:
        raise RunFileError(f"{path}:1: the header is damaged: {one_line(str(error))}") from error
    if not isinstance(line, Header):
        raise RunFileError(f"{path}:1: not a run file: the first line is no header")
    return line


def _decode(text: bytes) -> Line:
    try:
        return _LINE.decode(text)
    except msgspec.ValidationError:
        # Rare, and slower: the numbers that are not finite are null.
        raw = msgspec.json.decode(text)
        _restore_numbers(raw)
        line: Line = msgspec.convert(raw, Line)
        return line


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _restore_numbers(value: Any) -> None:
    """Put NaN where a record's line has null for a number, in place."""
    if not isinstance(value, dict) or not isinstance(value.get("record"), dict):
        return
    record = value["record"]
    for summary in _dict(record.get("summaries")).values():
        _null_to_nan(_dict(summary), NUMBERS)
    for samples in _dict(record.get("samples")).values():
        if isinstance(samples, list):
            samples[:] = [float("nan") if sample is None else sample for sample in samples]
    for argument in _dict(_dict(record.get("case")).get("arguments")).values():
        for element in argument if isinstance(argument, list) else [argument]:
            _null_to_nan(_dict(_dict(element).get("fill")), ("low", "high"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _null_to_nan(fields: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name in fields and fields[name] is None:
            fields[name] = float("nan")
