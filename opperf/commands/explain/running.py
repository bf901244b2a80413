"""The command `explain`, from its options to the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opperf.comparison.explaining.callgrind import read_dump
from opperf.comparison.explaining.choosing import choose
from opperf.comparison.explaining.difference import compare_dumps
from opperf.comparison.explaining.paths import make_graph
from opperf.comparison.explaining.reports.difference_report import report_of
from opperf.comparison.explaining.reports.flame import WRITERS
from opperf.errors import OutputError, UsageError
from opperf.reports.output import write_reports
from opperf.results.messages import tell
from opperf.results.output import Output, check_output, write_report


def explain_command(options: Mapping[str, Any]) -> int:
    """Explains the difference of two profiles, and returns the exit code.

    Raises `OpperfError` for files that cannot be compared, and for an output that cannot be
    written.
    """
    output: Path = options["output_file"]
    flame: Path | None = options["flame"]
    chosen = choose(options["base"], options["new"], options["id"], options["measured_pass"])
    inputs = (options["base"], options["new"], chosen.base, chosen.new)
    check_output(output, options["overwrite"], inputs)
    suffix = _check_flame(flame, output, options["overwrite"], inputs)
    for warning in chosen.warnings:
        tell(f"warning: {warning}")
    base, new = read_dump(chosen.base), read_dump(chosen.new)
    python = not options["no_python"]
    difference = compare_dumps(base, new, options["event"], options["sort"], python)
    if flame is not None:
        graph = make_graph(base, new, difference.event, python)
        write_report(flame, WRITERS[suffix](graph, difference, chosen.title))
    report = report_of(difference, chosen.title, options["top"])
    write_reports(report, [Output(output, options["output_format"])])
    return 0


def _check_flame(path: Path | None, output: Path, overwrite: bool, inputs: tuple[Path, ...]) -> str:
    """Returns the extension of the flame graph. Raises `UsageError` for an unknown one, and
    `OutputError` if the graph cannot be written."""
    if path is None:
        return ""
    if path.suffix.lower() not in WRITERS:
        raise UsageError(f"{path}: the name of a flame graph ends in {' or '.join(WRITERS)}")
    if path == output:
        raise OutputError(f"{path} is named as two outputs; choose another name for one")
    check_output(path, overwrite, inputs)
    return path.suffix.lower()
