"""The run file: a header, a line of JSON per environment, planned case and record, and a closing
line if it was finished. A record names its case and its environment by id.

`lines` writes, locks and repairs its lines. JSON has neither NaN nor infinities: both are written
as null, and the null of a number is read as NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from opperf.decoding import decode
from opperf.errors import RunFileError
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    CaseLine,
    Closing,
    Environment,
    EnvironmentLine,
    Header,
    Place,
    ProcessLine,
    Record,
    RecordLine,
    Run,
    Struct,
)
from opperf.results.lines import FileKind, LineFile, Parsed, encode_line, read_lines, reopen
from opperf.results.merging import pool

__all__ = ["RunWriter", "encode_line", "is_run_file", "lines_of", "read_run", "read_visits"]

Line = Header | EnvironmentLine | CaseLine | RecordLine | ProcessLine | Closing

RUN_FILE = FileKind(
    name="run file",
    writer="opperf run -f jsonl",
    header="header",
    schema=SCHEMA_VERSION,
    type=Header,
    closing=Closing,
    content="run",
    advice="; `opperf runs` lists those that are kept",
)

NUMBERS = ("mean", "median", "min", "max", "p50", "p90", "p99", "mad", "ci_low", "ci_high")
"""Fields of a summary that are floats."""


_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class RunWriter(AbstractContextManager["RunWriter"]):
    """Appends records to a run file, each on disk before the next case begins.

    Holds an exclusive lock on the file until it is closed.
    """

    def __init__(
        self, file: LineFile, warnings: list[str], environments: Iterable[str] = ()
    ) -> None:
        self.path = file.path
        self.warnings = warnings
        """Repairs that were made before the file could be resumed."""
        self._file = file
        self._environments = set(environments)

    @classmethod
    def create(
        cls,
        path: Path,
        header: Header,
        cases: Iterable[Case] = (),
        overwrite: bool = False,
        environments: Iterable[Environment] = (),
    ) -> RunWriter:
        """Creates a run file with this header, these planned cases and these environments.

        Raises `OutputError` if it exists and may not be replaced, or cannot be written, and
        `RunFileError` if another process is writing to it.
        """
        lines: list[Struct] = [CaseLine(id=case.id, case=case) for case in cases]
        known = {environment.id: environment for environment in environments}
        lines += [EnvironmentLine(id=id, environment=one) for id, one in known.items()]
        return cls(LineFile.create(path, header, *lines, overwrite=overwrite), [], known)

    @classmethod
    def resume(cls, path: Path) -> RunWriter:
        """Reopens a run file; a torn last line and a closing line are cut off.

        Repairs are in `warnings`. Raises `RunFileError` if the file cannot be read or is in use.
        """
        file, parsed = reopen(path, _parse)
        return cls(file, parsed.warnings, parsed.value.environments)

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def environment(self, environment: Environment) -> str:
        """Returns the id of an environment, which is appended unless it is in the file. Raises
        `OutputError`."""
        if environment.id not in self._environments:
            self._file.append(EnvironmentLine(id=environment.id, environment=environment))
            self._environments.add(environment.id)
        return environment.id

    def record(self, record: Record) -> None:
        """Appends a record. Raises `OutputError` if it cannot be written."""
        self._file.append(RecordLine.of(record))

    def case(self, *cases: Case) -> None:
        """Appends further planned cases. Raises `OutputError`."""
        self._file.append(*(CaseLine(id=case.id, case=case) for case in cases))

    def process(self, line: ProcessLine) -> None:
        """Appends that a process has measured its cases. Raises `OutputError`."""
        self._file.append(line)

    def close_run(self, closing: Closing) -> None:
        """Appends the closing line: the run is finished."""
        self._file.append(closing)


def read_run(path: Path) -> tuple[Run, list[str]]:
    """Returns a run file's content, and a warning if its last line was cut short. Of a session, a
    case has one record, with the samples of all processes.

    Raises what `read_visits` raises.
    """
    run, warnings = read_visits(path)
    return pool(run), warnings


def read_visits(path: Path) -> tuple[Run, list[str]]:
    """Returns a run file's content as it is: of a session, a case has a record of each process.

    Of two records of one case and process the later counts, in the earlier's place: it is a retry.
    Raises `RunFileError` for a damaged file, with the line at fault.
    """
    parsed = _parse(path)
    return parsed.value, parsed.warnings


def is_run_file(path: Path) -> bool:
    """Returns whether a file's first line is one of a run file of any version. Raises
    `RunFileError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            first = file.readline()
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error
    try:
        line = decode(msgspec.json.decode, first)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # A header may be cut short.
        return first.startswith(b'{"line":"header"')
    return isinstance(line, dict) and isinstance(line.get("line"), str)


def _parse(path: Path) -> Parsed[Run]:
    content = read_lines(path, RUN_FILE, _decode)
    environments: dict[str, Environment] = {}
    cases: dict[str, Case] = {}
    records: dict[tuple[str, Place | None], Record] = {}
    processes: list[ProcessLine] = []
    for read in content.lines:
        line = read.value
        if isinstance(line, EnvironmentLine):
            environments[line.id] = line.environment
        elif isinstance(line, CaseLine):
            cases[line.id] = line.case
        elif isinstance(line, RecordLine):
            where = f"{path}:{read.number}: the record of {line.id}"
            if line.id not in cases:
                raise RunFileError(f"{where} comes before its case; the file is damaged")
            if line.environment and line.environment not in environments:
                raise RunFileError(f"{where} comes before its environment; the file is damaged")
            records[line.id, line.place] = line.record(cases[line.id])
        elif isinstance(line, ProcessLine):
            processes.append(line)
    run = Run(
        content.header,
        tuple(records.values()),
        content.closing,
        environments,
        tuple(cases.values()),
        tuple(processes),
    )
    return Parsed(run, content.kept_bytes, content.warnings)


def lines_of(run: Run) -> Iterator[Struct]:
    """Returns the lines of a run file with this content."""
    yield run.header
    measured = {record.id: record.case for record in run.records}
    for id, case in {**{case.id: case for case in run.cases}, **measured}.items():
        yield CaseLine(id=id, case=case)
    for id, environment in run.environments.items():
        yield EnvironmentLine(id=id, environment=environment)
    for record in run.records:
        yield RecordLine.of(record)
    yield from run.processes
    if run.closing is not None:
        yield run.closing


def _decode(text: bytes) -> Line:
    try:
        return decode(_LINE.decode, text)
    except msgspec.ValidationError:
        # Rare, and slower: numbers that are not finite are null.
        raw = decode(msgspec.json.decode, text)
        _restore_numbers(raw)
        line: Line = msgspec.convert(raw, Line)
        return line


def _restore_numbers(value: Any) -> None:
    """Replaces the null of numbers with NaN, in place."""
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
