"""The report of several runs of a suite, each with other options of the system."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.reports.model import Column, Report, Section, Table, figures, names, numbers, words
from opperf.results.units import NOT_APPLICABLE
from opperf.suite_results.saving_sizes import batch_size_of
from opperf.suite_results.score_report import COMMAND, fail_cell, memory_figure, performances
from opperf.suite_results.scores import scores_of, values
from opperf.suite_results.suite_run import SuiteRun


def report_of(runs: Mapping[str, SuiteRun]) -> Report:
    """Returns the report of runs by their names: a row for each bench of each. A batch of another
    size is another program, so that there are no ratios."""
    scores = {name: scores_of(run) for name, run in runs.items()}
    rows = [(name, row) for name, found in scores.items() for row in found.rows if row.n]
    sizes = [batch_size_of(row.facts) for _, row in rows]
    columns = (
        names("Run", [name for name, _ in rows]),
        names("Bench", [row.facts.name for _, row in rows]),
        numbers("Batch", [NOT_APPLICABLE if size is None else str(size) for size in sizes]),
        Column("Fail", [fail_cell(row) for _, row in rows], is_number=True),
        numbers("Perf", performances([row.performance for _, row in rows])),
        words("Unit", [row.performance.unit if row.performance else "" for _, row in rows]),
        figures("Peak memory", [memory_figure(row) for _, row in rows], "B"),
    )
    return Report(
        command=COMMAND,
        title="Runs",
        sections=[Section(table=Table(columns))],
        data={name: values(found) for name, found in scores.items()},
    )
