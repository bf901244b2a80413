"""The report formats of a comparison, a function each."""

from __future__ import annotations

from collections.abc import Callable

from opperf.compare.files.comparison import Comparison
from opperf.compare.files.reports.data import csv_report, json_report
from opperf.compare.files.reports.html import html_report
from opperf.compare.files.reports.junit import junit_report
from opperf.compare.files.reports.markdown import markdown_report
from opperf.compare.files.reports.text import text_report

FORMATS: dict[str, Callable[[Comparison], str]] = {
    "text": text_report,
    "md": markdown_report,
    "json": json_report,
    "csv": csv_report,
    "html-fragment": html_report,
    "junit": junit_report,
}
"""Functions that write a comparison, by the name of the format."""
