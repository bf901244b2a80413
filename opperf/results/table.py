"""Records as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.errors import one_line
from opperf.metrics import metrics_in
from opperf.model import Metric, Record, Status
from opperf.results.settings import differing_settings, settings_text
from opperf.results.terminal import Column, figure_column, table_text
from opperf.results.text import inputs_text
from opperf.results.units import figure_of

INPUTS_WIDTH = 60
"""Maximum characters of inputs without a terminal, so that figures are near their operators."""

LEGEND = "Medians, each with the half-width of its 95 % interval."
"""Printed below a table, to explain its figures."""

STATUS_WIDTH = 50


def render_table(records: Sequence[Record], width: int | None = None) -> str:
    """Returns a table of the records in their order, with the medians of their usual metrics, and
    the status of those that are not ok. No wider than `width`."""
    columns = [
        Column("Operator", [record.case.label for record in records]),
        inputs_column(records, width),
        *settings_columns(records),
        *(metric_column(metric, records) for metric in metrics_in(records) if metric.usual),
    ]
    statuses = [_status(record) for record in records]
    if any(statuses):
        columns.append(Column("Status", statuses))
    return table_text(columns, width)


def settings_columns(records: Sequence[Record]) -> list[Column]:
    """Returns a column of the settings in which the records differ, if they do."""
    names = differing_settings(records)
    cells = [settings_text(record.case, names) for record in records]
    return [Column("Settings", cells)] if names else []


def inputs_column(records: Sequence[Record], width: int | None) -> Column:
    """Returns the column of the inputs, in a table of that width."""
    return Column("Inputs", [inputs_cell(inputs_text(record.case), width) for record in records])


def inputs_cell(inputs: str, width: int | None) -> str:
    """Returns the inputs, cut to `INPUTS_WIDTH`, or to the terminal's width if there is one."""
    return one_line(inputs, width or INPUTS_WIDTH)


def metric_column(metric: Metric, records: Sequence[Record], title: str = "") -> Column:
    """Returns the column of a metric: medians with the half-widths of their intervals."""
    figures = [figure_of(record.summaries.get(metric.name)) for record in records]
    return figure_column(metric, figures, title)


def _status(record: Record) -> str:
    if record.status is Status.OK:
        return ""
    return one_line(f"{record.status.value}: {record.reason}", STATUS_WIDTH)
