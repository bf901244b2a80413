"""The run file: a header, a line of JSON per environment, planned case and record, and a closing
line if it was finished. A record names its case and its environment by id.

`lines` writes, locks and repairs its lines. JSON has neither NaN nor infinities: both are written
as null, and the null of a number is read as NaN. Records of one case, of several rounds or
processes, are merged into one that has all samples.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import msgspec

from opperf.decoding import decode
from opperf.errors import RunFileError
from opperf.model import (
    NOISE,
    PASSES,
    Case,
    CaseLine,
    Closing,
    Environment,
    EnvironmentLine,
    GpuState,
    Header,
    Note,
    NoteCode,
    Place,
    ProcessLine,
    Record,
    RecordLine,
    Run,
    Status,
    Struct,
    Waits,
)
from opperf.reading import first_line
from opperf.results.lines import LineFile, encode_lines, read_lines
from opperf.results.possible import refused_summaries


def pool(run: Run) -> Run:
    """Returns a session with one record of each case, of all its processes; a run as it is."""
    if not run.header.session:
        return run
    found: dict[str, list[Record]] = {}
    for record in run.records:
        found.setdefault(record.id, []).append(record)
    records = tuple(_of_processes(own) for own in found.values())
    return msgspec.structs.replace(run, records=records)


def _of_processes(records: Sequence[Record]) -> Record:
    # One process that failed hides no figures of the others.
    first, *others = sorted(records, key=lambda record: record.status is not Status.OK)
    merged = merge(first, others, "process") if others else first
    return msgspec.structs.replace(merged, place=None)


def merge(first: Record, later: Sequence[Record], each: str = "round") -> Record:
    """Merges a record with later ones, each of a round or process; one not ok is replaced."""
    while later and first.status is not Status.OK:
        first, later = later[0], later[1:]
    if not later:
        return first
    # These import NumPy, which the manager of a single round does not need.
    from opperf.instruments.profilers.noise import noise_notes
    from opperf.instruments.profilers.summary import summarise
    from opperf.instruments.profilers.waits import busy_note

    failed = [
        Note("", NoteCode.ROUND_FAILED, f"{each} {number} {record.status.value}: {record.reason}")
        for number, record in enumerate(later, first.rounds + 1)
        if record.status is not Status.OK
    ]
    merged = [first, *(record for record in later if record.status is Status.OK)]
    samples = _joined(record.samples for record in merged)
    summaries = dict(first.summaries)
    waits: dict[str, Waits] = {}
    # Noise and waits are computed again from all. Other notes are kept once, as first worded: they
    # are repeated with other figures.
    again = (*NOISE, NoteCode.BUSY)
    notes = [note for note in first.notes if note.code not in again]
    for record in merged:
        known = {*again, *((note.metric, note.code) for note in notes)}
        if record is not first:
            notes += [n for n in record.notes if not {n.code, (n.metric, n.code)} & known]
        for metric, counted in record.waits.items():
            waits[metric] = waits[metric].merge(counted) if metric in waits else counted
    for metric in dict.fromkeys(name for record in merged[1:] for name in record.samples):
        parts = [record.summaries[metric] for record in merged if metric in record.summaries]
        loops = round(fmean(part.loops for part in parts))
        summaries[metric] = summarise(samples[metric], parts[-1].unit, loops)
        if metric in PASSES:
            notes += noise_notes(metric, samples[metric], first.case.settings.precision)
            busy = busy_note(metric, waits[metric]) if metric in waits else None
            notes += [busy] if busy else []
    states = [record.gpu for record in merged if record.gpu is not None]
    return msgspec.structs.replace(
        first,
        samples=samples,
        warmup=_joined(record.warmup for record in merged),
        summaries=summaries,
        notes=(*notes, *failed),
        waits=waits,
        wall_s=sum(record.wall_s for record in merged),
        busy_s=sum(record.busy_s for record in merged),
        gpu=functools.reduce(GpuState.merge, states) if states else None,
        rounds=first.rounds + len(later),
        processes=tuple(process for record in merged for process in record.processes),
        verification=next((record.verification for record in merged if record.is_wrong), None)
        or first.verification,
    )


def _joined(parts: Iterable[dict[str, list[float]]]) -> dict[str, list[float]]:
    joined: dict[str, list[float]] = {}
    for part in parts:
        for name, values in part.items():
            joined.setdefault(name, []).extend(values)
    return joined


Line = Header | EnvironmentLine | CaseLine | RecordLine | ProcessLine | Closing

NUMBERS = ("mean", "median", "min", "max", "p50", "p90", "p99", "mad", "ci_low", "ci_high")
"""Fields of a summary that are floats."""


_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class RunWriter(AbstractContextManager["RunWriter"]):
    """Appends records to a locked run file, each on disk before the next case begins."""

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
        """Creates a run file with these first lines. Raises what `LineFile.create` raises."""
        lines: list[Struct] = [CaseLine(id=case.id, case=case) for case in cases]
        known = {environment.id: environment for environment in environments}
        lines += [EnvironmentLine(id=id, environment=one) for id, one in known.items()]
        return cls(LineFile.create(path, encode_lines(header, *lines), overwrite), [], known)

    @classmethod
    def resume(cls, path: Path) -> RunWriter:
        """Reopens a run file. Raises `RunFileError` if it cannot be read or is in use."""
        file = LineFile.open(path)
        try:
            parsed = _parse(path)
            file.cut(parsed.kept_bytes)
        except BaseException:
            file.close()
            raise
        return cls(file, parsed.warnings, parsed.run.environments)

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def environment(self, environment: Environment) -> str:
        """Returns the id of an environment, which is appended unless it is in the file."""
        if environment.id not in self._environments:
            self._append(EnvironmentLine(id=environment.id, environment=environment))
            self._environments.add(environment.id)
        return environment.id

    def record(self, record: Record) -> None:
        self._append(RecordLine.of(record))

    def case(self, *cases: Case) -> None:
        self._append(*(CaseLine(id=case.id, case=case) for case in cases))

    def process(self, line: ProcessLine) -> None:
        self._append(line)

    def close_run(self, closing: Closing) -> None:
        self._append(closing)

    def _append(self, *lines: Struct) -> None:
        self._file.append(encode_lines(*lines))


def read_run(path: Path) -> tuple[Run, list[str]]:
    """Returns a run file's content, and a warning if its last line was cut short. Of a session, a
    case has one record, with the samples of all processes. Raises what `read_visits` raises."""
    run, warnings = read_visits(path)
    return pool(run), warnings


def read_visits(path: Path) -> tuple[Run, list[str]]:
    """Returns a run file's content as it is: of a session, a case has a record of each process. Of
    two records of one case and process the later counts, in the earlier's place: it is a retry.
    Raises `RunFileError` for a damaged file, with the line at fault."""
    parsed = _parse(path)
    return parsed.run, parsed.warnings


def kept_size(path: Path) -> int:
    """Returns the bytes of a run file that stay when it is resumed, those before a closing line or
    one that was cut short. Raises what `read_visits` raises."""
    return _parse(path).kept_bytes


def is_run_file(path: Path) -> bool:
    """Returns whether a file is a run file of any version. Raises `RunFileError`."""
    try:
        first = first_line(path)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error
    try:
        line = decode(msgspec.json.decode, first)
    except msgspec.DecodeError:
        # A header may be cut short.
        return first.startswith(b'{"line":"header"')
    return isinstance(line, dict) and isinstance(line.get("line"), str)


class _Parsed(NamedTuple):
    run: Run
    kept_bytes: int
    warnings: list[str]


def _parse(path: Path) -> _Parsed:
    content = read_lines(path, _decode)
    environments: dict[str, Environment] = {}
    cases: dict[str, Case] = {}
    records: dict[tuple[str, Place | None], Record] = {}
    processes: list[ProcessLine] = []
    for number, line in content.lines:
        if isinstance(line, EnvironmentLine):
            environments[line.id] = line.environment
        elif isinstance(line, CaseLine):
            cases[line.id] = line.case
        elif isinstance(line, RecordLine):
            where = f"{path}:{number}: the record of {line.id}"
            if line.id not in cases:
                raise RunFileError(f"{where} comes before its case; the file is damaged")
            if line.environment and line.environment not in environments:
                raise RunFileError(f"{where} comes before its environment; the file is damaged")
            refused = refused_summaries(line.summaries)
            if refused:
                raise RunFileError(f"{where}: {refused}; the file is damaged")
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
    return _Parsed(run, content.kept_bytes, content.warnings)


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
    for process in line.get("processes") or ():
        _null_to_nan(_dict(_dict(process).get("rate")), NUMBERS)
        losses = _dict(process).get("losses")
        if isinstance(losses, list):
            losses[:] = [float("nan") if loss is None else loss for loss in losses]
    for argument in _dict(_dict(line.get("case")).get("arguments")).values():
        for element in argument if isinstance(argument, list) else [argument]:
            _null_to_nan(_dict(_dict(element).get("fill")), ("low", "high"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _null_to_nan(fields: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name in fields and fields[name] is None:
            fields[name] = float("nan")
