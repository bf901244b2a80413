"""Columns of figures in tables: metrics, and what can be computed from them.

A run as CSV: a row for each record, of any status, and a column for each figure.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from opperf.errors import unknown
from opperf.instruments.memory import MEMORY, MEMORY_FORWARD
from opperf.instruments.times import BACKWARD, FORWARD, TOTAL
from opperf.instruments.wrapped.programs import OWN_NAMES
from opperf.metrics import exported_metrics, metric_named, metrics_by_name, metrics_in, sort_metrics
from opperf.model import DECLARED, Metric, MetricKind, Record, Run, display_arguments
from opperf.results.details import display_details
from opperf.results.figures import CaseFigures
from opperf.results.opperf_json import figure_name
from opperf.results.rates import RATES, WRITTEN, FigureColumn, written_rates
from opperf.results.sweeps import variables_of
from opperf.results.units import Figure

RATIO = Metric(
    "ratio",
    "",
    MetricKind.DERIVED,
    title="Backward/forward",
    description="time of the backward pass over that of the forward pass",
)

MEMORY_BACKWARD = Metric(
    "memory_backward",
    "B",
    MetricKind.MEMORY,
    title="Memory backward",
    description="what the backward pass adds to the peak of memory of the forward pass",
)

MOVED = Metric(
    "moved",
    "B",
    MetricKind.DERIVED,
    title="Moved",
    description="bytes of the inputs and of the outputs",
)


def _ratio(record: Record) -> Figure | None:
    forward, backward = map(CaseFigures(record).figure, (FORWARD.name, BACKWARD.name))
    if forward is None or backward is None or forward.value <= 0:
        return None
    shares = [figure.share for figure in (forward, backward) if figure.share is not None]
    value = backward.value / forward.value
    # The passes are timed one after the other, so that their errors are independent.
    half_width = _scaled(math.hypot(*shares) if len(shares) == 2 else None, value)
    return Figure(value, half_width, forward.unreliable or backward.unreliable)


def _scaled(share: float | None, value: float) -> float | None:
    return None if share is None else share * value


def _memory_backward(record: Record) -> Figure | None:
    both, forward = map(CaseFigures(record).figure, (MEMORY.name, MEMORY_FORWARD.name))
    if both is None or forward is None or BACKWARD.name not in record.case.passes:
        return None
    return Figure(both.value - forward.value)


def _percentile(name: str, record: Record) -> Figure | None:
    found = CaseFigures(record).of(TOTAL.name)
    return None if found is None else Figure(getattr(found.summary, name))


PERCENTILES = tuple(
    FigureColumn(
        Metric(
            name,
            TOTAL.unit,
            MetricKind.DERIVED,
            title=name.upper(),
            description=f"{name[1:]}th percentile of the time of both passes together",
        ),
        partial(_percentile, name),
    )
    for name in ("p50", "p90", "p99")
)
"""Percentiles that MXNet's utility has with its Python timer."""

DERIVED = (
    *RATES,
    FigureColumn(RATIO, _ratio),
    FigureColumn(MEMORY_BACKWARD, _memory_backward),
    FigureColumn(MOVED, lambda record: Figure(record.moved_bytes) if record.moved_bytes else None),
    *PERCENTILES,
)
"""Columns that are computed from a record's metrics."""


def column_of(metric: Metric) -> FigureColumn:
    """Returns the column of a metric: medians with their intervals."""
    return FigureColumn(metric, lambda record: CaseFigures(record).figure(metric.name))


def known_columns() -> dict[str, FigureColumn]:
    """Returns every column by name; another package's metric before a computed column."""
    derived = {column.metric.name: column for column in DERIVED}
    return derived | {name: column_of(metric) for name, metric in metrics_by_name().items()}


def check_columns(names: Iterable[str]) -> None:
    """Raises `UsageError` for an unknown column."""
    known = known_columns()
    for name in names:
        if name not in known and not name.startswith(OWN_NAMES):
            raise unknown("column", name, sorted(known))


def select_columns(records: Sequence[Record], names: Sequence[str] = ()) -> list[FigureColumn]:
    """Returns the columns with these names; without names, those of the records' usual metrics, and
    the times that were recorded elsewhere."""
    if names:
        # A profiling program's own metric has its unit in the records.
        known = known_columns() | {m.name: column_of(m) for m in metrics_in(records)}
        return [known.get(name) or column_of(metric_named(name, "")) for name in names]
    return [
        column_of(metric)
        for metric in metrics_in(records)
        if metric.usual or metric.kind is MetricKind.RECORDED
    ]


def count_uncertain(records: Sequence[Record]) -> tuple[int, int]:
    """Returns the numbers of uncertain and of all usual figures that differ from run to run."""
    figures = [
        figure
        for column in select_columns(records)
        if column.metric.usual and not column.metric.is_steady
        for figure in map(column.read, records)
        if figure is not None
    ]
    return sum(figure.is_uncertain for figure in figures), len(figures)


Column = tuple[str, Callable[[Record], object]]


def json_cell(value: object) -> str:
    """Returns a value as JSON in a cell; what is empty is an empty cell."""
    return msgspec.json.encode(value).decode() if value else ""


STATISTICS = ("median", "mean", "min", "p50", "p90", "p99")
"""Statistics of a noisy metric, a column each."""


def _statistic(metric: Metric, statistic: str) -> Callable[[Record], object]:
    return lambda record: CaseFigures(record).statistic(metric.name, statistic)


def _setting(name: str) -> Callable[[Record], object]:
    def setting(record: Record) -> object:
        value = getattr(record.case.settings, name)
        return json_cell(value) if isinstance(value, dict) else value

    return setting


def _point(variable: str) -> Callable[[Record], object]:
    return lambda record: record.case.point.get(variable, "")


CASE: tuple[Column, ...] = (
    ("id", lambda record: record.id),
    ("operator", lambda record: record.case.label),
    ("category", lambda record: record.case.category),
    ("status", lambda record: record.status.value),
    ("inputs", lambda record: msgspec.json.encode(display_arguments(record.case)).decode()),
    ("details", lambda record: json_cell(display_details(record.case))),
    *((name, _setting(name)) for name in DECLARED),
    ("rounds", lambda record: record.rounds),
    ("origin", lambda record: record.case.origin),
)
"""Columns of the case: its operator, its inputs and its settings."""


VERIFICATION: tuple[Column, ...] = (
    ("verification", lambda record: record.verification and record.verification.code.value),
    ("verification_method", lambda record: record.verification and record.verification.method),
    ("verification_failed", lambda record: record.verification and record.verification.failed),
    ("verification_reason", lambda record: record.verification and record.verification.reason),
)
"""Columns of a run whose results were verified; the errors are metrics."""

END: tuple[Column, ...] = (
    ("reason", lambda record: record.reason),
    ("notes", lambda record: json_cell(record.notes)),
)


def columns(records: Sequence[Record]) -> tuple[Column, ...]:
    """Returns all columns; a figure that a record lacks is an empty cell."""
    metrics = sort_metrics(dict.fromkeys((*exported_metrics(), *metrics_in(records))))
    variables = variables_of(record.case for record in records)
    points: list[Column] = [(f"sweep_{name}", _point(name)) for name in variables]
    if any(record.case.source_id for record in records):
        points.append(("source_id", lambda record: record.case.source_id))
    figures = (column for metric in metrics for column in _columns_of(metric))
    verified = VERIFICATION if any(record.verification for record in records) else ()
    return (*CASE, *points, *figures, *_rates_of(records), *verified, *END)


def _rates_of(records: Iterable[Record]) -> list[Column]:
    """Returns the columns of the work of records, those of which some record has a value."""
    found = {id(record): written_rates(record) for record in records}

    def read(name: str, record: Record) -> object:
        return found[id(record)].get(name)

    known = {name for own in found.values() for name in own}
    return [(name, partial(read, name)) for name in WRITTEN if name in known]


def _columns_of(metric: Metric) -> list[Column]:
    return [
        (figure_name(metric, statistic), _statistic(metric, statistic))
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
