"""The command `report`, from its options to the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opperf.errors import RunFileError
from opperf.model import Run
from opperf.reports.hotspots.data import find_hotspots, time_of
from opperf.reports.hotspots.ranking_report import report_of
from opperf.reports.output import write_reports
from opperf.results.kept import display
from opperf.results.messages import tell
from opperf.results.output import Output, check_output
from opperf.results.runfile import read_run


@dataclass(frozen=True)
class Request:
    """The request of `report`: its parameters."""

    files: tuple[Path, ...]
    rank: str
    by: tuple[str, ...]
    top: int | None
    output_file: Path
    output_format: str
    overwrite: bool


def report_command(request: Request) -> int:
    """Prints the ranking of run files, or writes it, and returns the exit code.

    Raises `OpperfError` for a file without a measured case, and for an output that cannot be
    written.
    """
    output = Output(request.output_file, request.output_format)
    check_output(output.path, request.overwrite, request.files)
    found = find_hotspots(
        _read(request.files), request.rank, request.by, [display(path) for path in request.files]
    )
    write_reports(report_of(found, request.top), [output])
    return 0


def _read(files: Sequence[Path]) -> list[Run]:
    """Returns the content of run files, and prints warnings about them.

    Raises `RunFileError` for a file that is none, is given twice, or has no measured case.
    """
    runs = []
    for index, path in enumerate(files):
        run, warnings = read_run(path)
        for warning in warnings:
            tell(f"warning: {warning}")
        if any(path.samefile(earlier) for earlier in files[:index]):
            raise RunFileError(f"{path} is named twice; its calls would count twice")
        if all(time_of(record) is None for record in run.records):
            raise RunFileError(f"{path}: no case of the run was measured; there is nothing to rank")
        runs.append(run)
    return runs
