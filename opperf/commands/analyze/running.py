"""The command `analyze`, from its options to the exit code."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opperf.errors import RunFileError, UsageError
from opperf.experiments.analysis import (
    columns_of,
    csv_text,
    extended,
    line_of,
    lines_text,
    row_of,
)
from opperf.experiments.files import XLA, read_bytes, read_file
from opperf.experiments.records import ModelRecord
from opperf.plurals import pluralize
from opperf.results.messages import tell
from opperf.results.output import check_output, replace_all

REPORT = "metric_report"
"""Name of the report, without its extension."""


@dataclass(frozen=True)
class Request:
    """The request of `analyze`: its parameters."""

    folder: Path
    output_format: str
    database: Path | None
    timestamp: float | None
    hide_errors: bool


def analyze_command(request: Request) -> int:
    """Writes the report, and returns the exit code. Raises `OpperfError`."""
    folder, name = request.folder, request.output_format
    report = folder / f"{REPORT}.{name}"
    database = request.database or folder / "database.csv"
    records = _read(folder)
    check_output(report, overwrite=True)
    at = time.time() if request.timestamp is None else request.timestamp
    hide = request.hide_errors
    if name == "jsonl":
        text = lines_text(line_of(record, at, hide) for record in records)
        written = {report: text.encode()}
    else:
        rows = [row_of(record, at, hide) for record in records]
        check_output(database, overwrite=True)
        text = csv_text(rows, columns_of(rows))
        # Undecodable bytes are kept as they are.
        old = read_bytes(database).decode(errors="surrogateescape") if database.exists() else ""
        whole = extended(database, old, rows) if old.strip() else text
        written = {report: text.encode(), database: whole.encode(errors="surrogateescape")}
    replace_all(written)
    tell(f"{pluralize(len(records), 'record')} written to {' and '.join(map(str, written))}")
    return 0


def _read(folder: Path) -> Sequence[ModelRecord]:
    """Returns the records of a folder's files. Raises `UsageError` or `RunFileError` without
    any."""
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {what}; name the folder with the results (*.jsonl)")
    files = [path for path in sorted(folder.glob("*.jsonl")) if path.stem != REPORT]
    if not files:
        raise RunFileError(f"{folder} has no files *.jsonl of results")
    warnings: list[str] = []
    records = [record for path in files for record in read_file(path, XLA, warnings)]
    for warning in warnings:
        tell(f"warning: {warning}")
    if not records:
        raise RunFileError(f"{folder}: its files *.jsonl have no records; there is nothing to do")
    return records
