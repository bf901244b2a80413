"""A comparison as JUnit's XML, a test for each case and metric."""

from __future__ import annotations

from opperf.compare.files.comparison import Change, Comparison, Row
from opperf.compare.files.outcome import findings, is_missing
from opperf.compare.files.reports.cells import (
    CHANGES,
    figure_texts,
    interval_text,
    ratio_text,
    remarks,
    unit_of,
)
from opperf.compare.junit import Test, junit_text
from opperf.compare.results import TITLE
from opperf.compare.statistics.data import Verdict
from opperf.model import DIFFERENT


def junit_report(comparison: Comparison) -> str:
    """The report. Findings of `--fail-on` are failures; ambiguous rows and other changes are
    skipped."""
    return junit_text(
        "opperf compare",
        [
            *(_row_test(comparison, row) for row in comparison.rows),
            *(_change_test(comparison, change) for change in comparison.changes),
        ],
    )


def _name(one: Row | Change) -> str:
    """The name of a test, with the settings that are not at their defaults, but not those in which
    it differs from other rows, of which the next report may have others."""
    details = "; ".join(part for part in (one.inputs, one.changed_settings) if part)
    case = f"{one.operator} ({details})" if details else one.operator
    return " ".join(part for part in (case, one.metric) if part)


def _row_test(comparison: Comparison, row: Row) -> Test:
    failed = findings(comparison, row)
    open_ = row.verdict is Verdict.AMBIGUOUS
    return Test(
        operator=row.operator,
        name=_name(row),
        id=row.id,
        result="failure" if failed else "skipped" if open_ else "system-out",
        message=_row_text(row),
        kind=failed[0] if failed else "",
    )


def _row_text(row: Row) -> str:
    unit = unit_of([row])
    parts = [
        f"{row.verdict.value}: {' to '.join(figure_texts(row, unit))} {unit.name}",
        f"ratio {ratio_text(row.ratio)}",
        *([f"interval {interval_text(row)}"] if row.low is not None else []),
        *([remarks(row)] if remarks(row) else []),
        *([f"{TITLE}: {row.difference}"] if row.results == DIFFERENT else []),
    ]
    return ", ".join(parts)


def _change_test(comparison: Comparison, change: Change) -> Test:
    title = CHANGES[change.kind].lower()
    missing = is_missing(comparison, change)
    return Test(
        operator=change.operator,
        name=_name(change),
        id=change.id,
        result="failure" if missing else "skipped",
        message=f"{title}: {change.reason}" if change.reason else title,
        kind="missing" if missing else "",
    )
