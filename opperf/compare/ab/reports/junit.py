"""The report of a session as JUnit's XML, a test for each figure."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.compare.ab.report import Report, Row
from opperf.compare.ab.reports.tables import LISTS, interval_text, ratio_text
from opperf.compare.junit import Test, junit_text
from opperf.compare.results import TITLE
from opperf.compare.statistics.data import Verdict
from opperf.model import DIFFERENT

SESSION = "opperf ab"
"""Name of the suite, and of the test that an invalid session fails."""


def junit_report(report: Report) -> str:
    """The report. Verdicts of `--fail-on` are failures; other ambiguous figures, and cases that
    were not compared, are skipped. An invalid session is one error, as it has no verdicts."""
    return junit_text(SESSION, _tests(report))


def _tests(report: Report) -> Iterator[Test]:
    if not report.valid:
        yield Test(SESSION, "session", "", "error", report.reason, kind="invalid")
        return
    for row in report.rows:
        yield _row_test(report, row)
    for title, _, _, read in LISTS:
        for case, reason in read(report).items():
            yield Test(case, title, case, "skipped", reason)


def _row_test(report: Report, row: Row) -> Test:
    different = row.results == DIFFERENT
    found = [row.verdict.value, *([DIFFERENT] if different else [])]
    failed = [one for one in found if one in report.fail_on]
    open_ = row.verdict is Verdict.AMBIGUOUS
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
        result="failure" if failed else "skipped" if open_ else "system-out",
        message=", ".join(parts),
        kind=failed[0] if failed else "",
    )
