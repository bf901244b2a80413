"""The run file: a header, a line of JSON per record, and a closing line if it was finished.

How its lines are written, locked and repaired is in `lines`. JSON has no word for NaN and the
infinities. They are written as null, and the null of a number is read as NaN: that it was not a
finite number survives, which one does not.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import RunFileError
from opperf.model import SCHEMA_VERSION, Closing, Header, Record, RecordLine, Run
from opperf.results.lines import FileKind, LineFile, encode_line, going_on, read_lines

__all__ = ["RunWriter", "encode_line", "read_run"]

Line = Header | RecordLine | Closing

RUN_FILE = FileKind("run file", "opperf run -f jsonl", "header", SCHEMA_VERSION, Header)

NUMBERS = ("mean", "median", "min", "max", "p50", "p90", "p99", "mad", "ci_low", "ci_high")
"""Fields of a summary that are floats."""


_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


@dataclass(frozen=True)
class _Content:
    """A run file as read, and how much of it a writer that goes on may keep."""

    run: Run
    kept_bytes: int
    """Up to the end of the last record, without a closing line or a torn tail."""
    warnings: list[str]


class RunWriter(AbstractContextManager["RunWriter"]):
    """Appends records to a run file, each on disk before the next case begins.

    Holds an exclusive lock on the file until it is closed.
    """

    def __init__(self, file: LineFile, warnings: list[str]) -> None:
        self.path = file.path
        self.warnings = warnings
        """What had to be repaired before the file could be continued."""
        self._file = file

    @classmethod
    def create(cls, path: Path, header: Header, overwrite: bool = False) -> RunWriter:
        """A new run file with this header.

        Raises `OutputError` if it exists and may not be replaced, or cannot be written, and
        `RunFileError` if another process is writing to it.
        """
        return cls(LineFile.create(path, header, overwrite), [])

    @classmethod
    def resume(cls, path: Path) -> RunWriter:
        """Go on with a run file: a torn last line and a closing line are cut off.

        What was repaired is in `warnings`. Raises `RunFileError` if the file cannot be read
        or is in use.
        """
        file, content = going_on(path, _parse)
        return cls(file, content.warnings)

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def record(self, record: Record) -> None:
        """Append a record. Raises `OutputError` if it cannot be written."""
        self._file.append(RecordLine(record=record))

    def close_run(self, closing: Closing) -> None:
        """Append the closing line: the run is finished."""
        self._file.append(closing)


def read_run(path: Path) -> tuple[Run, list[str]]:
    """A run file's content, and warnings about what was cut short.

    Of two records with one id the later counts, in the earlier's place: it is a retry.
    Raises `RunFileError` for a file that cannot be trusted, with the line at fault.
    """
    content = _parse(path)
    return content.run, content.warnings


def _parse(path: Path) -> _Content:
    content = read_lines(path, RUN_FILE, _decode)
    kept = content.header.size
    records: dict[str, Record] = {}
    closing: Closing | None = None
    for read in content.lines:
        line = read.value
        if closing is not None or isinstance(line, Header):
            kind = "after the closing line" if closing is not None else "a second header"
            raise RunFileError(f"{path}:{read.number}: {kind}; two runs seem to be in one file")
        if isinstance(line, Closing):
            closing = line
            continue
        records[line.record.id] = line.record
        kept += read.size
    run = Run(content.header.value, tuple(records.values()), closing)
    return _Content(run, kept, content.warnings)


def _decode(text: bytes) -> Line:
    try:
        return _LINE.decode(text)
    except msgspec.ValidationError:
        # Rare, and slower: the numbers that are not finite are null.
        raw = msgspec.json.decode(text)
        _restore_numbers(raw)
        line: Line = msgspec.convert(raw, Line)
        return line


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
