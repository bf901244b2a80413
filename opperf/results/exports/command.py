"""The command `export`, from its options to the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import RunFileError
from opperf.model import Run
from opperf.results.exports.bencher import bencher
from opperf.results.exports.github_action import github_action
from opperf.results.exports.pytest_benchmark import pytest_benchmark
from opperf.results.output import check_output, write_report
from opperf.results.runfile import read_run

EXPORTS: dict[str, Callable[[Run], tuple[Any, list[str]]]] = {
    "pytest-benchmark": pytest_benchmark,
    "bencher": bencher,
    "github-action-benchmark": github_action,
}
"""By the tool's name: functions that return the content of its file, and warnings about excluded
figures."""


def export_command(options: Mapping[str, Any]) -> int:
    """Writes a run file in another tool's format, and returns the exit code.

    Raises `OpperfError` for a file that cannot be exported, and for an output that cannot be
    written.
    """
    path: Path = options["run_file"]
    output: Path = options["output_file"]
    check_output(output, options["overwrite"], [path])
    run, warnings = read_run(path)
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to export")
    try:
        content, excluded = EXPORTS[options["tool"]](run)
    except RunFileError as error:
        raise RunFileError(f"{path}: {error}") from error
    for warning in (*warnings, *(f"{path}: {what}" for what in excluded)):
        print(f"warning: {warning}", file=sys.stderr)
    text = msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
    write_report(output, text + "\n")
    return 0
