"""A run as CSV: a row per record, whatever its status, and a column per figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import msgspec

from opperf.model import Record, Run, shown_arguments
from opperf.results.metrics import MEMORIES, STATISTICS, TIMES, shown

Column = tuple[str, Callable[[Record], object]]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _figure(metric: str, statistic: str) -> Callable[[Record], object]:
    return lambda record: shown(record, metric, statistic)


COLUMNS: tuple[Column, ...] = (
    ("id", lambda record: record.id),
    ("operator", lambda record: record.case.label),
    ("category", lambda record: record.case.category),
    ("status", lambda record: record.status.value),
    ("inputs", lambda record: _json(shown_arguments(record.case))),
    ("device", lambda record: record.case.settings.device),
    ("dtype", lambda record: record.case.settings.dtype),
    ("profiler", lambda record: record.case.settings.profiler),
    ("mode", lambda record: record.case.settings.mode),
    ("phase", lambda record: record.case.settings.phase),
    ("warmup", lambda record: record.case.settings.warmup),
    ("runs", lambda record: record.case.settings.runs),
    ("precision", lambda record: record.case.settings.precision),
    ("cache", lambda record: record.case.settings.cache),
    ("rounds", lambda record: record.rounds),
    ("origin", lambda record: record.case.origin),
    *(
        (f"{metric}_{statistic}_ms", _figure(metric, statistic))
        for metric in TIMES
        for statistic in STATISTICS
    ),
    *((f"{metric}_kB", _figure(metric, "median")) for metric in MEMORIES),
    ("reason", lambda record: record.reason),
    ("notes", lambda record: _json(record.notes) if record.notes else ""),
)
"""A figure that a record does not have is an empty cell."""


def csv_text(run: Run) -> str:
    """The file's text, with the names of the columns first."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in COLUMNS])
    writer.writerows([cell(record) for _, cell in COLUMNS] for record in run.records)
    return text.getvalue()
