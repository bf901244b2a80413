"""A comparison of two files as a report."""

from __future__ import annotations

from opperf.comparison.files.comparison import Comparison
from opperf.comparison.files.reports.sections import answer, sections
from opperf.comparison.files.reports.values import COLUMNS, rows, tests, values
from opperf.reports.markdown import code
from opperf.reports.model import Report


def report_of(comparison: Comparison) -> Report:
    """Returns the report of a comparison, for every format."""
    return Report(
        command="compare",
        title="",
        sections=sections(comparison),
        data=values(comparison),
        header=[name for name, _ in COLUMNS],
        rows=rows(comparison),
        tests=tests(comparison),
        headline=f"Operators: {code(comparison.new.name)} against {code(comparison.base.name)}",
        answer=(answer(comparison),),
    )
