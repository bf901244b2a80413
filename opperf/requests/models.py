"""Tabulates and compares the results of models."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from opperf.errors import RunFileError, UsageError
from opperf.requests.declaring import Option, Request, Say, argument
from opperf.requests.fields import number_option

if TYPE_CHECKING:
    from opperf.experiments.records import ModelRecord

YEAR_10000_S = 253402300800
"""The first second that no date of Python's has."""


def timestamp_option(default: str) -> Option:
    """Returns the declaration of the time of the records that have none."""
    return number_option(
        "--timestamp",
        f"Time of the records that have none{default}",
        "SECONDS",
        high=YEAR_10000_S - 1,
        kind=float,
    )


FOLDER = Path("output")
"""The folder of results, by default that of PyTorch/XLA's runner."""

REPORT = "metric_report"
"""Name of the report, without its extension."""


class Tabulated(NamedTuple):
    """How many records are in which files."""

    count: int
    paths: tuple[Path, ...]


class AnalyzeRequest(Request, frozen=True, kw_only=True):
    """Tabulates the metrics of each record of a folder of results."""

    named: Annotated[Path | None, argument("[DIR]")] = None
    output_format: Annotated[
        Literal["csv", "jsonl"],
        Option("--output-format", "Write metric_report.csv, or metric_report.jsonl."),
    ] = "csv"
    output_dirname: Annotated[
        Path | None,
        Option(
            "--output-dirname", "The folder, as PyTorch/XLA's analyzer names it.", metavar="DIR"
        ),
    ] = None
    database: Annotated[
        Path | None,
        Option(
            "--database",
            "Table that a report in CSV is appended to.  [default: database.csv in DIR]",
            metavar="FILE",
        ),
    ] = None
    timestamp: Annotated[float | None, timestamp_option(", since 1970.  [default: now]")] = None
    experiment_name: Annotated[
        Literal["run_all"],
        Option("--experiment-name", "PyTorch/XLA: all records are tabulated."),
    ] = "run_all"
    hide_errors: Annotated[bool, Option("--hide-errors", "Leave the messages of errors empty.")] = (
        False
    )

    @property
    def folder(self) -> Path:
        """The folder of results. Raises `UsageError` for two."""
        folders = {folder for folder in (self.named, self.output_dirname) if folder is not None}
        if len(folders) > 1:
            raise UsageError(
                f"DIR is {self.named}, and --output-dirname {self.output_dirname}; name one of them"
            )
        return next(iter(folders), FOLDER)

    def run(self, say: Say) -> Tabulated:
        """Writes the report. Raises `OpperfError`."""
        # Help and completion do without the imports.
        from opperf.experiments import analysis
        from opperf.experiments.files import read_bytes
        from opperf.results.output import check_output, replace_all

        folder, hide = self.folder, self.hide_errors
        report = folder / f"{REPORT}.{self.output_format}"
        database = self.database or folder / "database.csv"
        records = _read(folder, say)
        check_output(report, overwrite=True)
        at = time.time() if self.timestamp is None else self.timestamp
        if self.output_format == "jsonl":
            text = analysis.lines_text(analysis.line_of(record, at, hide) for record in records)
            written = {report: text.encode()}
        else:
            rows = [analysis.row_of(record, at, hide) for record in records]
            check_output(database, overwrite=True)
            text = analysis.csv_text(rows, analysis.columns_of(rows))
            # Undecodable bytes are kept as they are.
            old = read_bytes(database).decode(errors="surrogateescape") if database.exists() else ""
            whole = analysis.extended(database, old, rows) if old.strip() else text
            written = {report: text.encode(), database: whole.encode(errors="surrogateescape")}
        replace_all(written)
        return Tabulated(len(records), tuple(written))


def _read(folder: Path, say: Say) -> Sequence[ModelRecord]:
    """Returns the records of a folder's files. Raises `UsageError` or `RunFileError` without
    any."""
    # Help and completion do without the import.
    from opperf.experiments.files import XLA, read_file

    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {what}; name the folder with the results (*.jsonl)")
    files = [path for path in sorted(folder.glob("*.jsonl")) if path.stem != REPORT]
    if not files:
        raise RunFileError(f"{folder} has no files *.jsonl of results")
    warnings: list[str] = []
    records = [record for path in files for record in read_file(path, XLA, warnings)]
    for warning in warnings:
        say(f"warning: {warning}")
    if not records:
        raise RunFileError(f"{folder}: its files *.jsonl have no records; there is nothing to do")
    return records
