"""A run in another tool's format for programs: `opperf.export(path, "bencher")`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from opperf.errors import RunFileError, unknown
from opperf.model import Run
from opperf.results.exports.bencher import bencher
from opperf.results.exports.github_action import github_action
from opperf.results.exports.pytest_benchmark import pytest_benchmark
from opperf.results.run_files import locate_run
from opperf.results.runfile import read_run

EXPORTS: dict[str, Callable[[Run], tuple[Any, list[str]]]] = {
    "pytest-benchmark": pytest_benchmark,
    "bencher": bencher,
    "github-action-benchmark": github_action,
}
"""By the tool's name: functions that return the content of its file, and warnings about excluded
figures."""


@dataclass(frozen=True)
class Export:
    """The content of a tool's file, which prints as its JSON."""

    content: Any
    warnings: tuple[str, ...]
    """What is not in it, and doubts about the run file, a line each."""

    def __str__(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self.content), indent=2).decode()


def export(run_file: str | os.PathLike[str], to: str) -> Export:
    """Returns a run file, or a kept run such as '@last', in the format of another benchmark tool:
    'pytest-benchmark', 'bencher' or 'github-action-benchmark'.

    Raises `UsageError` for another tool, and `RunFileError` for a file that cannot be exported.
    """
    if to not in EXPORTS:
        raise unknown("tool", to, EXPORTS)
    path = locate_run(os.fspath(run_file))
    run, warnings = read_run(path)
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to export")
    try:
        content, excluded = EXPORTS[to](run)
    except RunFileError as error:
        raise RunFileError(f"{path}: {error}") from error
    return Export(content, (*warnings, *(f"{path}: {what}" for what in excluded)))
