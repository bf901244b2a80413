"""The report of a session as JSON and as CSV, with every figure."""

from __future__ import annotations

import csv
import io

import msgspec

from opperf.compare.ab.report import Report, Row


def json_report(report: Report) -> str:
    """The report as one JSON object, with the coarse look and what was not compared."""
    return msgspec.json.format(msgspec.json.encode(report)).decode() + "\n"


def csv_report(report: Report) -> str:
    """A row for each figure, with a header; a missing value is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row.__struct_fields__)
    for row in report.rows:
        writer.writerow(msgspec.to_builtins(row).values())
    return text.getvalue()
