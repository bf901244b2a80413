"""A run as CSV: a row for each record, of any status, and a column for each figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from opperf.metrics import exported_metrics, metrics_in, sort_metrics
from opperf.model import DECLARED, Metric, Record, Run, display_arguments
from opperf.results.details import display_details
from opperf.results.opperf_json import figure_name
from opperf.results.sweeps import variables_of
from opperf.results.units import unit_of
from opperf.results.verifications import are_verified

Column = tuple[str, Callable[[Record], object]]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


STATISTICS = ("median", "mean", "min", "p50", "p90", "p99")
"""Statistics of a noisy metric, a column each."""


def _figure(metric: Metric, statistic: str, size: float) -> Callable[[Record], object]:
    def figure(record: Record) -> float | None:
        summary = record.summaries.get(metric.name)
        return None if summary is None else float(getattr(summary, statistic)) / size

    return figure


def _setting(name: str) -> Callable[[Record], object]:
    def setting(record: Record) -> object:
        value = getattr(record.case.settings, name)
        return (_json(value) if value else "") if isinstance(value, dict) else value

    return setting


def _point(variable: str) -> Callable[[Record], object]:
    return lambda record: record.case.point.get(variable, "")


def _details(record: Record) -> str:
    details = display_details(record.case)
    return _json(details) if details else ""


CASE: tuple[Column, ...] = (
    ("id", lambda record: record.id),
    ("operator", lambda record: record.case.label),
    ("category", lambda record: record.case.category),
    ("status", lambda record: record.status.value),
    ("inputs", lambda record: _json(display_arguments(record.case))),
    ("details", _details),
    *((name, _setting(name)) for name in DECLARED),
    ("rounds", lambda record: record.rounds),
    ("origin", lambda record: record.case.origin),
)
"""Columns of the case: its operator, its inputs and its settings."""


def _verified(field: str) -> Callable[[Record], object]:
    def read(record: Record) -> object:
        return "" if record.verification is None else getattr(record.verification, field)

    return read


def _code(record: Record) -> str:
    return "" if record.verification is None else record.verification.code.value


VERIFICATION: tuple[Column, ...] = (
    ("verification", _code),
    *((f"verification_{name}", _verified(name)) for name in ("method", "failed", "reason")),
)
"""Columns of a run whose results were verified; the errors are metrics."""

END: tuple[Column, ...] = (
    ("reason", lambda record: record.reason),
    ("notes", lambda record: _json(record.notes) if record.notes else ""),
)


def columns(records: Sequence[Record]) -> tuple[Column, ...]:
    """Returns all columns; a figure that a record lacks is an empty cell."""
    metrics = sort_metrics(dict.fromkeys((*exported_metrics(), *metrics_in(records))))
    variables = variables_of(record.case for record in records)
    points: list[Column] = [(f"sweep_{name}", _point(name)) for name in variables]
    if any(record.case.source_id for record in records):
        points.append(("source_id", lambda record: record.case.source_id))
    figures = (column for metric in metrics for column in _columns_of(metric))
    verified = VERIFICATION if are_verified(records) else ()
    return (*CASE, *points, *figures, *verified, *END)


def _columns_of(metric: Metric) -> list[Column]:
    size = unit_of(metric.unit).size
    return [
        (figure_name(metric, statistic), _figure(metric, statistic, size))
        for statistic in (("median",) if metric.is_steady else STATISTICS)
    ]


def csv_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the file's text, with the names of the columns first."""
    made = columns(run.records)
    header = [name for name, _ in made]
    return rows_text([header, *([cell(record) for _, cell in made] for record in run.records)])


def rows_text(rows: Iterable[Iterable[Any]]) -> str:
    """Returns rows as CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
