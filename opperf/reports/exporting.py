"""A run file in another format: `opperf export`, and `opperf.export(path, "bencher")`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError, UsageError, unknown
from opperf.reports.formats import RUN, format_named, formats_of, function_of, json_of
from opperf.reports.runs import write
from opperf.results.messages import tell
from opperf.results.output import STDOUT, check_output
from opperf.results.run_files import locate
from opperf.results.runfile import read_run

NOTHING = "the run has no record yet; there is nothing to export"


@dataclass(frozen=True)
class Export:
    """The content of a tool's file, which prints as its JSON."""

    content: Any
    warnings: tuple[str, ...]
    """Exclusions, and doubts about the run file, a line each."""

    def __str__(self) -> str:
        return json_of(self.content).rstrip("\n")


def export(run_file: str | os.PathLike[str], to: str) -> Export:
    """Returns a run file, or a kept run such as '@last', in the format of another benchmark tool:
    'pytest-benchmark', 'bencher' or 'github-action-benchmark'.

    Raises `UsageError` for another tool, and `RunFileError` for a file that cannot be exported.
    """
    tools = {name: format for name, format in formats_of(RUN).items() if format.values is not None}
    if to not in tools:
        raise unknown("tool", to, tools)
    path = locate(os.fspath(run_file))
    run, warnings = read_run(path)
    if not run.records:
        raise RunFileError(f"{path}: {NOTHING}")
    try:
        content, excluded = function_of(tools[to].values)(run)
    except RunFileError as error:
        raise RunFileError(f"{path}: {error}") from error
    return Export(content, (*warnings, *(f"{path}: {what}" for what in excluded)))


@dataclass(frozen=True)
class Request:
    """The request of `export`: its parameters."""

    run_file: Path
    tool: str
    columns: tuple[str, ...]
    output_file: Path
    overwrite: bool


def export_command(request: Request) -> int:
    """Writes a run file in another format, and returns the exit code.

    Raises `OpperfError` for a file that cannot be exported, for an output that cannot be written,
    and for columns of a format that has none.
    """
    tool, path, output = request.tool, request.run_file, request.output_file
    format = format_named(tool, RUN)
    if request.columns and not format.has_columns:
        having = ", ".join(name for name, one in formats_of(RUN).items() if one.has_columns)
        raise UsageError(f"--columns is for --to {having}; {tool} has no columns")
    if output.suffix and output.suffix.lower() not in format.extensions:
        raise UsageError(
            f"{output}: --to {tool} writes {format.extension}; name such a file with -o"
        )
    check_output(output, request.overwrite, [path])
    run, warnings = read_run(path)
    if format.values is not None and not run.records:
        raise RunFileError(f"{path}: {NOTHING}")
    try:
        missing = write(run, output, tool, request.columns)
    except RunFileError as error:
        raise RunFileError(f"{path}: {error}") from error
    for warning in (*warnings, *(f"{path}: {what}" for what in missing)):
        tell(f"warning: {warning}")
    if output != STDOUT:
        tell(f"written to {output}")
    return 0
