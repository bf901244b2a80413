"""A report as JSON, with everything in it, and its rows as CSV."""

from __future__ import annotations

import csv
import io

from opperf.reports.formats import json_of
from opperf.reports.model import Report


def write_json(report: Report, width: int | None = None) -> str:
    """Returns the report as one JSON object, which always has every key."""
    return json_of(report.data)


def write_csv(report: Report, width: int | None = None) -> str:
    """Returns the rows with a header; a missing value is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(report.header)
    writer.writerows(report.rows)
    return text.getvalue()
