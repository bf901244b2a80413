"""Records as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.errors import one_line
from opperf.metrics import metrics_in
from opperf.model import Metric, Record, Status
from opperf.results.settings import differing_settings, settings_text
from opperf.results.terminal import Column, figure_column, table_text
from opperf.results.text import Shown, inputs_text, short_inputs
from opperf.results.units import figure_of

INPUTS_WIDTH = 60
"""Characters of inputs in a table where fewer distinguish an operator's cases, so that figures are
near their operators."""

LEGEND = "Medians, each with the half-width of its 95 % interval."
"""Printed below a table, to explain its figures."""

STATUS_WIDTH = 50


def render_table(records: Sequence[Record], width: int | None = None) -> str:
    """Returns a table of the records in their order, with the medians of their usual metrics, and
    the status of those that are not ok. No wider than `width`."""
    columns = [
        Column("Operator", [record.case.label for record in records]),
        inputs_column(records, records),
        *settings_columns(records),
        *(metric_column(metric, records) for metric in metrics_in(records) if metric.usual),
    ]
    statuses = [_status(record) for record in records]
    if any(statuses):
        columns.append(Column("Status", statuses))
    return table_text(columns, width)


def settings_columns(records: Sequence[Record]) -> list[Column]:
    """Returns a column of the settings in which the records differ, if they do."""
    names = differing_settings(record.case for record in records)
    cells = [settings_text(record.case, names) for record in records]
    return [Column("Settings", cells)] if names else []


def inputs_column(records: Sequence[Record], run: Iterable[Record]) -> Column:
    """Returns the column of the inputs of some of a run's records."""
    return inputs_texts(map(_shown, records), map(_shown, run))


def _shown(record: Record) -> Shown:
    return record.case.label, inputs_text(record.case)


def inputs_texts(cases: Iterable[Shown], run: Iterable[Shown]) -> Column:
    """Returns the column of the inputs of some of a run's cases. It distinguishes the run's cases
    at any width: texts are shortened first, and then wrapped."""
    short = short_inputs(run, INPUTS_WIDTH)
    return Column("Inputs", [short[case] for case in cases], wraps=True)


def metric_column(metric: Metric, records: Sequence[Record], title: str = "") -> Column:
    """Returns the column of a metric: medians with the half-widths of their intervals."""
    figures = [figure_of(record.summaries.get(metric.name)) for record in records]
    return figure_column(metric, figures, title)


def _status(record: Record) -> str:
    if record.status is Status.OK:
        return ""
    return one_line(f"{record.status.value}: {record.reason}", STATUS_WIDTH)
