"""The report of a session as a fragment of HTML for a page, without scripts and external
resources."""

from __future__ import annotations

from opperf.compare.ab.report import Report
from opperf.compare.ab.reports.tables import summary, tables
from opperf.compare.html import render

TEMPLATE = "session.html.jinja"
"""The fragment's text, beside this module."""


def html_report(report: Report) -> str:
    """The fragment."""
    content = {
        "framework": report.framework,
        "arms": [("A", report.a), ("B", report.b)],
        "sentences": summary(report),
        "tables": tables(report),
    }
    return render(__package__, TEMPLATE, content)
