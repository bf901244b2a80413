"""The report formats of an explained difference, a function each."""

from __future__ import annotations

from collections.abc import Callable

from opperf.compare.explaining.difference import Difference
from opperf.compare.explaining.reports.data import json_report
from opperf.compare.explaining.reports.text import text_report

FORMATS: dict[str, Callable[[Difference, str, int | None], str]] = {
    "text": text_report,
    "json": json_report,
}
"""Functions that write a difference with its title and its first functions, by the name of the
format."""
