"""The verdicts of a session as a report."""

from __future__ import annotations

import msgspec

from opperf.comparison.ab.report import Report as SessionReport
from opperf.comparison.ab.report import Row
from opperf.comparison.ab.reports.sections import sections
from opperf.comparison.ab.reports.sentences import advice, headline
from opperf.comparison.ab.reports.values import tests
from opperf.reports.model import Report


def report_for(found: SessionReport) -> Report:
    """Returns the report of a session, for every format."""
    return Report(
        command="ab",
        title=f"{found.framework}: A against B",
        sections=sections(found),
        data=found,
        header=Row.__struct_fields__,
        rows=[list(msgspec.to_builtins(row).values()) for row in found.rows],
        tests=list(tests(found)),
        headline=headline(found),
        answer=advice(found),
    )
