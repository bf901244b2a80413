"""The command `report`, from its options to the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError
from opperf.model import Run
from opperf.reports.hotspots.data import find_hotspots, timed_of
from opperf.reports.hotspots.ranking_report import report_of
from opperf.reports.output import write_reports
from opperf.results.messages import tell
from opperf.results.output import Output, check_output
from opperf.results.runfile import read_run


def report_command(options: Mapping[str, Any]) -> int:
    """Prints the ranking of run files, or writes it, and returns the exit code.

    Raises `OpperfError` for a file without a measured case, and for an output that cannot be
    written.
    """
    files: tuple[Path, ...] = options["files"]
    output: Path = options["output_file"]
    check_output(output, options["overwrite"], files)
    found = find_hotspots(_read(files), options["rank"], options["by"])
    write_reports(report_of(found, options["top"]), [Output(output, options["output_format"])])
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
        if not timed_of(run.records):
            raise RunFileError(f"{path}: no case of the run was measured; there is nothing to rank")
        runs.append(run)
    return runs
