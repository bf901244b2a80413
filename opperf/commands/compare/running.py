"""The command `compare`, from its options to the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Request:
    """The request of `compare`."""

    base: Path
    new: Path
    question: Question
    outputs: tuple[Output, ...]
    overwrite: bool


def read_request(options: Mapping[str, Any]) -> Request:
    """Returns the request of the command's options. Raises the errors of the project's file."""
    limits = limits_from(options)
    paths: tuple[Path, Path] = (options["base"], options["new"])
    base, new = reversed(paths) if options["base_is"] == "second" else paths
    question = Question(
        metrics=options["metrics"],
        patterns=options["patterns"],
        fail_on=options["fail_on"],
        ignore_settings=options["ignore_settings"],
        in_order=options["in_order"],
        thresholds=limits.thresholds,
        tolerances=limits.tolerances,
        limits_file=limits.path,
        weight=options["weight"],
    )
    return Request(base, new, question, outputs_from(options), options["overwrite"])


def compare_command(request: Request) -> int:
    """Compares two files and reports the comparison; the exit code.

    Raises `OpperfError` for files that cannot be compared, and for an output that cannot be
    written.
    """
    for path, output_format in request.outputs:
        check_format(request.question.weight, output_format, "compare")
        check_output(path, request.overwrite, [request.base, request.new])
    base, new = read(request.base), read(request.new)
    comparison = compare(base, new, request.question)
    for warning in doubts(base, new):
        tell(f"warning: {warning}")
    return report(comparison, request.outputs)


def report(comparison: Comparison, outputs: Iterable[Output]) -> int:
    """Prints the comparison, or writes it; the exit code."""
    write_reports(report_of(comparison), outputs)
    code, why = outcome(comparison)
    if why:
        sys.stdout.flush()
        tell(f"opperf: {why}")
    return code
