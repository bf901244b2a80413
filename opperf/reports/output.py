"""Writes reports to files and to a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.reports.formats import format_named
from opperf.reports.model import Report
from opperf.results.output import STDOUT, Output, write_report
from opperf.results.text import terminal_width


def write_reports(report: Report, outputs: Iterable[Output]) -> None:
    """Writes a report to each output, or prints it. Raises `OutputError`."""
    for path, name in outputs:
        format = format_named(name, report.command)
        width = terminal_width() if path == STDOUT else None
        write_report(path, format.write_report(report, width))
