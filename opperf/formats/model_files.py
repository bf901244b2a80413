"""Files of records of models: opperf's run files, JSON lines of PyTorch/XLA's benchmarks, or tables
of PyTorch's own runner, which no command takes beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from opperf import reading
from opperf.errors import RunFileError, UsageError
from opperf.formats.documents import read_bytes, readable
from opperf.formats.measured_models import models_of
from opperf.formats.model_records import ModelRecord
from opperf.formats.pytorch_runner import is_runner_csv, read_rows
from opperf.formats.xla import read_lines
from opperf.frameworks import pause_garbage_collection
from opperf.plurals import pluralize
from opperf.results.runfile import is_run_file, read_run

MOST_WARNINGS = 3
"""Most warnings about lines of one file: a file of another form has one for each line."""

XLA, RUNNER = "records of PyTorch/XLA", "rows of PyTorch's runner"


@pause_garbage_collection()
def read_records(
    paths: Sequence[Path], warnings: list[str], timestamp: float | None = None
) -> list[ModelRecord]:
    """Returns the records of files, in their order. Those without a time have `timestamp`, or that
    at which their file was last changed. Adds lines that are cut off, and the like, to `warnings`.
    Raises `RunFileError` for a file that is none of these, and for two forms."""
    records: list[ModelRecord] = []
    forms: dict[str, Path] = {}
    for path in paths:
        with readable(path):
            form = RUNNER if is_runner_csv(reading.first_line(path)) else XLA
        forms.setdefault(form, path)
        if len(forms) > 1:
            raise RunFileError(
                f"{forms[RUNNER]} has {RUNNER}, and {forms[XLA]} {XLA}; aggregate each alone, or "
                "write the rows as records first: opperf aggregate "
                f"{forms[RUNNER]} --report records --format jsonl"
            )
        records += _dated(path, read_file(path, form, warnings), timestamp, warnings)
    return records


def read_file(path: Path, form: str, warnings: list[str]) -> list[ModelRecord]:
    """Returns the records of a file of a form, `XLA` or `RUNNER`. Adds lines that are cut off, and
    the like, to `warnings`. Raises `RunFileError` for a file of another form."""
    found: list[ModelRecord] = []
    doubts: list[str] = []
    if form == RUNNER:
        found += read_rows(path, read_bytes(path), doubts)
    else:
        if is_run_file(path):
            run, doubts = read_run(path)
            warnings += doubts
            return [*models_of(run, path)]
        with readable(path):
            for record, doubt in read_lines(path, reading.lines_of(path)):
                found += [record] if record is not None else []
                doubts += [doubt] if doubt else []
        if doubts and not found:
            raise RunFileError(
                f"{path} has no record: neither JSON lines of PyTorch/XLA's benchmarks nor a table "
                "of PyTorch's runner (dev,name,batch_size,...)"
            )
    if not found:
        doubts.append(f"{path} has no records")
    warnings += doubts[:MOST_WARNINGS]
    if len(doubts) > MOST_WARNINGS:
        warnings.append(f"{path}: {pluralize(len(doubts) - MOST_WARNINGS, 'more line')} omitted")
    return found


def _dated(
    path: Path, records: list[ModelRecord], timestamp: float | None, warnings: list[str]
) -> list[ModelRecord]:
    without = sum(record.timestamp is None for record in records)
    if not without:
        return records
    if timestamp is None:
        timestamp = float(int(path.stat().st_mtime))
        warnings.append(
            f"{path}: {without} of {pluralize(len(records), 'record')} without a timestamp, and "
            "given that of the file's last change; --timestamp sets another"
        )
    return [
        replace(record, timestamp=timestamp) if record.timestamp is None else record
        for record in records
    ]


def read_folder(folder: Path, omitted: str, warnings: list[str]) -> list[ModelRecord]:
    """Returns the records of a folder's files *.jsonl but for that of a name, and adds what is
    doubtful to `warnings`. Raises `UsageError` or `RunFileError` without files."""
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {what}; name the folder with the results (*.jsonl)")
    files = [path for path in sorted(folder.glob("*.jsonl")) if path.stem != omitted]
    if not files:
        raise RunFileError(f"{folder} has no files *.jsonl of results")
    return [record for path in files for record in read_file(path, XLA, warnings)]
