"""The command `export`, from its options to the exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opperf.results.exports.program import export
from opperf.results.output import check_output, write_report


def export_command(options: Mapping[str, Any]) -> int:
    """Writes a run file in another tool's format, and returns the exit code.

    Raises `OpperfError` for a file that cannot be exported, and for an output that cannot be
    written.
    """
    path: Path = options["run_file"]
    output: Path = options["output_file"]
    check_output(output, options["overwrite"], [path])
    made = export(path, options["tool"])
    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    write_report(output, f"{made}\n")
    return 0
