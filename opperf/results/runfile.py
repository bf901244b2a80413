"""The run file: a header, a line of JSON per environment, planned case and record, and a closing
line if it was finished. A record names its case and its environment by id.

How its lines are written, locked and repaired is in `lines`. JSON has no word for NaN and the
infinities. They are written as null, and the null of a number is read as NaN: that it was not a
finite number survives, which one does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import RunFileError
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    CaseLine,
    Closing,
    Environment,
    EnvironmentLine,
    Header,
    Record,
    RecordLine,
    Run,
    Struct,
)
from opperf.results.lines import FileKind, LineFile, encode_line, read_lines, reopen

__all__ = ["RunWriter", "encode_line", "is_run_file", "lines_of", "read_run"]

Line = Header | EnvironmentLine | CaseLine | RecordLine | Closing

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

    def __init__(
        self, file: LineFile, warnings: list[str], environments: Iterable[str] = ()
    ) -> None:
        self.path = file.path
        self.warnings = warnings
        """Repairs that were needed before the file could be continued."""
        self._file = file
        self._environments = set(environments)

    @classmethod
    def create(
        cls, path: Path, header: Header, cases: Iterable[Case] = (), overwrite: bool = False
    ) -> RunWriter:
        """A new run file with this header and these planned cases.

        Raises `OutputError` if it exists and may not be replaced, or cannot be written, and
        `RunFileError` if another process is writing to it.
        """
        planned = (CaseLine(id=case.id, case=case) for case in cases)
        return cls(LineFile.create(path, header, *planned, overwrite=overwrite), [])

    @classmethod
    def resume(cls, path: Path) -> RunWriter:
        """Go on with a run file: a torn last line and a closing line are cut off.

        What was repaired is in `warnings`. Raises `RunFileError` if the file cannot be read
        or is in use.
        """
        file, content = reopen(path, _parse)
        return cls(file, content.warnings, content.run.environments)

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def environment(self, environment: Environment) -> str:
        """The id of an environment, which is appended unless it is in the file. Raises
        `OutputError`."""
        if environment.id not in self._environments:
            self._file.append(EnvironmentLine(id=environment.id, environment=environment))
            self._environments.add(environment.id)
        return environment.id

    def record(self, record: Record) -> None:
        """Append a record. Raises `OutputError` if it cannot be written."""
        self._file.append(RecordLine.of(record))

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


def is_run_file(path: Path) -> bool:
    """Whether a file's first line is one of a run file, of whatever version. Raises `RunFileError`
    if it cannot be read."""
    try:
        with path.open("rb") as file:
            first = file.readline()
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error
    try:
        line = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # A header that was cut short is one all the same.
        return first.startswith(b'{"line":"header"')
    return isinstance(line, dict) and isinstance(line.get("line"), str)


def _parse(path: Path) -> _Content:
    content = read_lines(path, RUN_FILE, _decode)
    kept = content.header.size
    environments: dict[str, Environment] = {}
    cases: dict[str, Case] = {}
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
        if isinstance(line, EnvironmentLine):
            environments[line.id] = line.environment
        elif isinstance(line, CaseLine):
            cases[line.id] = line.case
        else:
            where = f"{path}:{read.number}: the record of {line.id}"
            if line.id not in cases:
                raise RunFileError(f"{where} comes before its case; the file is damaged")
            if line.environment and line.environment not in environments:
                raise RunFileError(f"{where} comes before its environment; the file is damaged")
            records[line.id] = line.record(cases[line.id])
        kept += read.size
    run = Run(
        content.header.value, tuple(records.values()), closing, environments, tuple(cases.values())
    )
    return _Content(run, kept, content.warnings)


def lines_of(run: Run) -> Iterator[Struct]:
    """The lines of a run file with this content."""
    yield run.header
    measured = {record.id: record.case for record in run.records}
    for id, case in {**{case.id: case for case in run.cases}, **measured}.items():
        yield CaseLine(id=id, case=case)
    for id, environment in run.environments.items():
        yield EnvironmentLine(id=id, environment=environment)
    for record in run.records:
        yield RecordLine.of(record)
    if run.closing is not None:
        yield run.closing


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
    """Put NaN where a line has null for a number, in place."""
    line = _dict(value)
    for summary in _dict(line.get("summaries")).values():
        _null_to_nan(_dict(summary), NUMBERS)
    for samples in _dict(line.get("samples")).values():
        if isinstance(samples, list):
            samples[:] = [float("nan") if sample is None else sample for sample in samples]
    for argument in _dict(_dict(line.get("case")).get("arguments")).values():
        for element in argument if isinstance(argument, list) else [argument]:
            _null_to_nan(_dict(_dict(element).get("fill")), ("low", "high"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _null_to_nan(fields: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name in fields and fields[name] is None:
            fields[name] = float("nan")
