"""The report of a session as tests of continuous integration."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.comparison.ab.report import Report, Row
from opperf.comparison.ab.reports.sections import LISTS
from opperf.comparison.ab.reports.sentences import interval_text, ratio_text
from opperf.comparison.results import TITLE
from opperf.comparison.statistics.data import Verdict
from opperf.model import DIFFERENT
from opperf.reports.model import Test

SESSION = "opperf ab"
"""Name of the test that an invalid session fails."""


def tests(report: Report) -> Iterator[Test]:
    """Yields a test for each figure. Verdicts of `--fail-on` are failures; other ambiguous figures,
    and cases that were not compared, are skipped. An invalid session is one error, because it has
    no verdicts."""
    if not report.valid:
        yield Test(SESSION, "session", "", "error", report.reason, kind="invalid")
        return
    for row in report.rows:
        yield _row_test(report, row)
    for title, read in LISTS.items():
        for case, reason in read(report).items():
            yield Test(case, title, case, "skipped", reason)


def _row_test(report: Report, row: Row) -> Test:
    different = row.results == DIFFERENT
    found = [row.verdict.value, *([DIFFERENT] if different else [])]
    failed = [word for word in found if word in report.fail_on]
    is_open = row.verdict is Verdict.AMBIGUOUS
    parts = [
        row.verdict.value,
        *([f"B/A {ratio_text(row)}"] if row.ratio is not None else []),
        *([f"interval {interval_text(row)}"] if row.low is not None else []),
        *([row.note] if row.note else []),
        *([f"{TITLE}: {row.difference}"] if different else []),
    ]
    return Test(
        operator=row.operator,
        name=f"{'; '.join(filter(None, (row.inputs, row.settings)))} {row.metric}",
        id=row.id,
        result="failure" if failed else "skipped" if is_open else "system-out",
        message=", ".join(parts),
        kind=failed[0] if failed else "",
    )
