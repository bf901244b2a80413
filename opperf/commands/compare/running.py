"""The command `compare`, from its options to the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from opperf.comparison.files.comparison import Comparison, outcome
from opperf.comparison.files.judging import Question, compare
from opperf.comparison.files.reading import doubts, read
from opperf.comparison.files.reports import report_of
from opperf.comparison.project_file import limits_from
from opperf.comparison.weighted import check_format
from opperf.reports.writing import write_reports
from opperf.results.messages import tell
from opperf.results.output import Output, check_output, outputs_from


def compare_command(options: Mapping[str, Any]) -> int:
    """Compares two files and reports the comparison; the exit code. Raises `OpperfError` for files
    that cannot be compared, for an output that cannot be written, and of the project's file."""
    limits = limits_from(options)
    paths: tuple[Path, Path] = (options["base"], options["new"])
    question = Question(
        **{name: options[name] for name in OF_QUESTION},
        thresholds=limits.thresholds,
        tolerances=limits.tolerances,
        limits_file=limits.path,
    )
    outputs = outputs_from(options)
    for path, output_format in outputs:
        check_format(question.weight, output_format, "compare")
        check_output(path, options["overwrite"], paths)
    base, new = map(read, reversed(paths) if options["base_is"] == "second" else paths)
    comparison = compare(base, new, question)
    for warning in doubts(base, new):
        tell(f"warning: {warning}")
    return report(comparison, outputs)


OF_QUESTION = ("metrics", "patterns", "fail_on", "ignore_settings", "in_order", "weight")
"""Fields of the question that are an option of the same name."""


def report(comparison: Comparison, outputs: Iterable[Output]) -> int:
    """Prints the comparison, or writes it; the exit code."""
    write_reports(report_of(comparison), outputs)
    code, why = outcome(comparison)
    if why:
        sys.stdout.flush()
        tell(f"opperf: {why}")
    return code
