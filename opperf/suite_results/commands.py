"""The commands on results of suites, from their options to the exit code. Each raises `OpperfError`
for files that cannot be read or are of no suite, and for an output that cannot be written."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.comparison.statistics.data import SAME_FACTOR, Thresholds
from opperf.errors import FOUND, UsageError
from opperf.reports.model import Report
from opperf.reports.writing import write_reports
from opperf.results.messages import tell
from opperf.results.output import check_output, outputs_from
from opperf.suite_results import comparison_report, score_report
from opperf.suite_results.comparing import compare, outcome
from opperf.suite_results.milabench import report as milabench_report
from opperf.suite_results.milabench.figures import figures_of
from opperf.suite_results.ratios import ASSUMED_SCATTER
from opperf.suite_results.scores import scores_of
from opperf.suite_results.suite_run import SuiteRun, in_environment, load
from opperf.suite_results.validation import report as validation_report
from opperf.suite_results.validation.layers import choose_layers, validate

MILABENCH = "milabench"


def validate_command(options: Mapping[str, Any]) -> int:
    """Validates runs: 1 if something failed."""
    as_milabench = options["as_"] == MILABENCH
    layers = choose_layers(options["validations"], as_milabench)
    _check_outputs(options, options["runs"])
    found = validate(load(options["runs"]), layers)
    _write(validation_report.report_of(found, as_milabench), options)
    failed = found.failures or (options["strict"] and found.warnings)
    return FOUND if failed else 0


def report_command(options: Mapping[str, Any]) -> int:
    """Reports runs."""
    as_milabench = options["as_"] == MILABENCH
    price, baselines = options["price"], options["baselines"]
    if as_milabench and (baselines or options["by"]):
        raise UsageError(
            "--as milabench has no baseline and no groups; omit --baseline and --by, or --as"
        )
    if price and not as_milabench and not baselines:
        raise UsageError(
            "--price is of the total, which is a ratio to a machine; name its run with --baseline"
        )
    _check_outputs(options, (*options["runs"], *baselines))
    run = load(options["runs"])
    if as_milabench:
        _write(milabench_report.report_of(figures_of(run), run.name, price), options)
        return 0
    baseline = load(baselines) if baselines else None
    scores = scores_of(run, baseline, options["by"], price, options["scatter"] or ASSUMED_SCATTER)
    _write(score_report.report_of(scores), options)
    return 0


def compare_command(options: Mapping[str, Any]) -> int:
    """Compares two sides: 1 for a finding to fail on, 3 if that cannot be decided."""
    a, b = (options["base"], *options["repeat_a"]), (options["new"], *options["repeat_b"])
    _check_outputs(options, (*a, *b))
    base, new = _side(a, options["env_a"]), _side(b, options["env_b"])
    found = compare(
        base,
        new,
        _thresholds(options),
        options["by"],
        options["scatter"] or ASSUMED_SCATTER,
        options["fail_on"],
    )
    _write(comparison_report.report_of(found), options)
    code, why = outcome(found)
    if why:
        sys.stdout.flush()
        tell(f"opperf: {why}")
    return code


def _side(paths: Sequence[Path], environment: str | None) -> SuiteRun:
    run = load(tuple(dict.fromkeys(paths)))
    return run if environment is None else in_environment(run, environment)


def _thresholds(options: Mapping[str, Any]) -> Thresholds:
    default = Thresholds()
    threshold = options["threshold"] or default.threshold
    same_within = options["same_within"] or SAME_FACTOR * threshold
    if same_within < threshold:
        raise UsageError("--same-within is below --threshold; a bench would be both; raise it")
    return Thresholds(threshold=threshold, same_within=same_within)


def _check_outputs(options: Mapping[str, Any], inputs: Sequence[Path]) -> None:
    for path, _ in outputs_from(options):
        check_output(path, options["overwrite"], [file for file in inputs if file.is_file()])


def _write(report: Report, options: Mapping[str, Any]) -> None:
    write_reports(report, outputs_from(options))
