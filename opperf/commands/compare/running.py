"""The command `compare`, from its options to the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from opperf.api.compare import ask
from opperf.comparison.files.comparison import Comparison
from opperf.comparison.files.judging import Question
from opperf.comparison.files.outcome import outcome
from opperf.comparison.files.reports import report_of
from opperf.comparison.project_file import limits_from
from opperf.comparison.weighted import check_format
from opperf.reports.output import write_reports
from opperf.results.messages import tell
from opperf.results.output import Output, check_output, outputs_from


def compare_command(options: Mapping[str, Any]) -> int:
    """Compares two files and reports the comparison; the exit code.

    Raises `OpperfError` for files that cannot be compared, and for an output that cannot be
    written.
    """
    paths: list[Path] = [options["base"], options["new"]]
    outputs = outputs_from(options)
    for path, output_format in outputs:
        check_format(options["weight"], output_format, "compare")
        check_output(path, options["overwrite"], paths)
    if options["base_is"] == "second":
        paths.reverse()
    limits = limits_from(options)
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
    made = ask(paths[0], paths[1], question)
    for warning in made.warnings:
        tell(f"warning: {warning}")
    return report(made.comparison, outputs)


def report(comparison: Comparison, outputs: Iterable[Output]) -> int:
    """Prints the comparison, or writes it; the exit code."""
    write_reports(report_of(comparison), outputs)
    code, why = outcome(comparison)
    if why:
        sys.stdout.flush()
        tell(f"opperf: {why}")
    return code
