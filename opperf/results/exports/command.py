"""The command `export`, from its options to the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opperf.errors import UsageError
from opperf.results.exports.program import export
from opperf.results.markdown import markdown_text
from opperf.results.messages import tell
from opperf.results.output import check_output, write_report
from opperf.results.runfile import read_run

MARKDOWN = "md"
"""A page to read, in place of a tool's JSON."""


def export_command(options: Mapping[str, Any]) -> int:
    """Writes a run file in another tool's format, and returns the exit code.

    Raises `OpperfError` for a file that cannot be exported, for an output that cannot be written,
    and for columns of a format that has none.
    """
    if options["columns"] and options["tool"] != MARKDOWN:
        raise UsageError(f"--columns is for --to {MARKDOWN}; {options['tool']} has no columns")
    path: Path = options["run_file"]
    output: Path = options["output_file"]
    _check_extension(output, options["tool"])
    check_output(output, options["overwrite"], [path])
    if options["tool"] == MARKDOWN:
        run, warnings = read_run(path)
        text = markdown_text(run, options["columns"])
    else:
        made = export(path, options["tool"])
        text, warnings = f"{made}\n", [*made.warnings]
    for warning in warnings:
        tell(f"warning: {warning}")
    write_report(output, text)
    return 0


def _check_extension(output: Path, tool: str) -> None:
    """Raises `UsageError` for a page in a file of JSON, and for JSON in a page."""
    usual, *others = (".md", ".markdown") if tool == MARKDOWN else (".json",)
    if output.suffix and output.suffix.lower() not in (usual, *others):
        raise UsageError(f"{output}: --to {tool} writes {usual}; name such a file with -o")
