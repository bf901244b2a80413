"""Records as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.errors import one_line
from opperf.metrics import present
from opperf.model import Metric, Record, Status
from opperf.results.terminal import Column, figure_column, table_text
from opperf.results.text import inputs_text
from opperf.results.units import figure_of

INPUTS_WIDTH = 60
"""Characters of the inputs that are shown: the figures then fit beside them."""

STATUS_WIDTH = 50


def render_table(records: Sequence[Record], width: int | None = None) -> str:
    """The records in their order, with the median of every usual metric that one of them has; how
    one ended is said where it is not ok. No wider than `width`."""
    columns = [
        Column("Operator", [record.case.label for record in records]),
        inputs_column(records),
        *(metric_column(metric, records) for metric in present(records) if metric.usual),
    ]
    statuses = [_status(record) for record in records]
    if any(statuses):
        columns.append(Column("Status", statuses))
    return table_text(columns, width)


def inputs_column(records: Sequence[Record]) -> Column:
    """The inputs of records, shortened."""
    return Column("Inputs", [one_line(inputs_text(r.case), INPUTS_WIDTH) for r in records])


def metric_column(metric: Metric, records: Sequence[Record], title: str = "") -> Column:
    """The median of a metric, and how well it is known."""
    figures = [figure_of(record.summaries.get(metric.name)) for record in records]
    return figure_column(metric, figures, title)


def _status(record: Record) -> str:
    if record.status is Status.OK:
        return ""
    return one_line(f"{record.status.value}: {record.reason}", STATUS_WIDTH)
