"""The report formats of a session, a function each."""

from __future__ import annotations

from collections.abc import Callable

from opperf.compare.ab.report import Report
from opperf.compare.ab.reports.data import csv_report, json_report
from opperf.compare.ab.reports.html import html_report
from opperf.compare.ab.reports.junit import junit_report
from opperf.compare.ab.reports.markdown import markdown_report
from opperf.compare.ab.reports.text import text_report

FORMATS: dict[str, Callable[[Report], str]] = {
    "text": text_report,
    "md": markdown_report,
    "json": json_report,
    "csv": csv_report,
    "html-fragment": html_report,
    "junit": junit_report,
}
"""Functions that write a report, by the name of the format."""
