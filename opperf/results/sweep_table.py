"""A sweep as tables by size: a row for each point, a column for each operator, dtype ..."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opperf.metrics import metrics_in
from opperf.model import Metric, Record, Status
from opperf.results.axis_table import render_by_axis
from opperf.results.bandwidth import BANDWIDTH, bandwidth_of
from opperf.results.columns import bandwidth_figure
from opperf.results.projection import Observation, describe, group
from opperf.results.sweeps import point_text, swept_inputs, variables_of
from opperf.results.table import render_table
from opperf.results.terminal import GAP, Column, table_text
from opperf.results.text import wrap
from opperf.results.units import (
    Figure,
    FigureText,
    align,
    choose_unit,
    figure_of,
    format_figure,
)

NAME_WIDTH = 40
"""Characters of a line in a column's title: half the width of a narrow terminal."""

Key = tuple[int, ...]
"""The values of a row's variables."""


class SweepTable(NamedTuple):
    """One table by size."""

    title: str
    sizes: tuple[Column, ...]
    """Columns of the swept variables."""
    columns: tuple[Column, ...]


class Line(NamedTuple):
    """The records that differ in their sizes only."""

    name: tuple[str, ...]
    """Operator, settings and configuration, a line of the column's title each."""
    records: dict[Key, Record]


def is_swept(records: Iterable[Record]) -> bool:
    """Whether some records are points of a sweep."""
    return any(record.case.point for record in records)


def row_count(records: Sequence[Record]) -> int:
    """Returns the number of rows of the records' tables."""
    swept = {point_text(record.case.point) for record in records if record.case.point}
    return len(swept) + sum(not record.case.point for record in records)


def sweep_tables(records: Sequence[Record]) -> list[SweepTable]:
    """Returns the tables of the records that are points of a sweep: one of a single line's metrics,
    otherwise one for each usual metric."""
    swept = [record for record in records if record.case.point]
    tables: list[SweepTable] = []
    for variables in dict.fromkeys(tuple(record.case.point) for record in swept):
        own = [record for record in swept if tuple(record.case.point) == variables]
        rows = sorted({tuple(record.case.point.values()) for record in own})
        sizes = tuple(
            Column(variable, [str(row[place]) for row in rows], is_text=False)
            for place, variable in enumerate(variables)
        )
        tables += (SweepTable(title, sizes, columns) for title, columns in _contents(own, rows))
    return tables


def _contents(
    records: Sequence[Record], rows: Sequence[Key]
) -> Iterator[tuple[str, tuple[Column, ...]]]:
    """Yields the title and the columns of each table of records with the same variables."""
    metrics = [metric for metric in metrics_in(records) if metric.usual]
    lines = _lines(records)
    if len(lines) == 1:
        (line,) = lines
        inputs = swept_inputs([record.case for record in records])
        columns = [_column(metric, line, rows, metric.title) for metric in metrics]
        if any(bandwidth_of(record) for record in records):
            columns.append(_column(BANDWIDTH, line, rows, "Forward"))
        yield f"{', '.join(line.name)}: {inputs}", tuple(columns)
        return
    operators = {line.name[0] for line in lines}
    of = "" if len(operators) > 1 else f" of {lines[0].name[0]}"
    by = ", ".join(variables_of(record.case for record in records))
    for metric in metrics:
        # The name of the only operator is in the table's title.
        names = [line.name if len(operators) > 1 else line.name[1:] for line in lines]
        columns = [
            _column(metric, line, rows, "\n".join((*(wrap(word, NAME_WIDTH) for word in name), "")))
            for name, line in zip(names, lines, strict=True)
        ]
        yield f"{metric.title}{of} by {by}", tuple(columns)


def _lines(records: Sequence[Record]) -> list[Line]:
    """Returns the lines, those of one operator together."""
    observed = [Observation(record) for record in records]
    variables = variables_of(record.case for record in records)
    names = [tuple(filter(None, own.values())) for own in describe(observed, without=variables)]
    lines = [
        Line(name, {tuple(record.case.point.values()): record for record in own})
        for name, own in group(records, names).items()
    ]
    by_operator = group(lines, (line.name[0] for line in lines))
    return [line for own in by_operator.values() for line in own]


def _column(metric: Metric, line: Line, rows: Sequence[Key], title: str) -> Column:
    """Returns a column of figures; the status of a record without any."""
    records = [line.records.get(row) for row in rows]
    figures = [None if record is None else _figure(metric, record) for record in records]
    unit = choose_unit(metric.unit, figures)
    texts = [
        FigureText(record.status.value)
        if record is not None and record.status is not Status.OK
        else format_figure(figure, unit)
        for record, figure in zip(records, figures, strict=True)
    ]
    joined = f"{title}{unit.name}" if title.endswith("\n") else f"{title} {unit.name}"
    return Column(joined, align(texts), is_text=False)


def _figure(metric: Metric, record: Record) -> Figure | None:
    return bandwidth_figure(record) if metric is BANDWIDTH else figure_of(record, metric.name)


def render_by_size(
    records: Sequence[Record], width: int | None = None, names: Sequence[str] = ()
) -> str:
    """Returns the tables by size, none wider than `width`, and a table of the records that are not
    points of a sweep, with the columns of these names, by default the usual ones: by the values of
    a setting where it has several."""
    sections = []
    for table in sweep_tables(records):
        title = wrap(table.title, width) if width else table.title
        sections.append("\n\n".join([title, *_parts(table, width)]))
    others = [record for record in records if not record.case.point]
    if others:
        sections.append(render_by_axis(others, width, names) or render_table(others, width, names))
    return "\n\n".join(sections)


def _parts(table: SweepTable, width: int | None) -> Iterator[str]:
    """Yields the table in parts that fit the width, each with the sizes."""
    sizes = sum(column.width + GAP for column in table.sizes)
    part: list[Column] = []
    taken = sizes
    for column in table.columns:
        if part and width is not None and taken + column.width > width:
            yield table_text([*table.sizes, *part], width)
            part, taken = [], sizes
        part.append(column)
        taken += column.width + GAP
    yield table_text([*table.sizes, *part], width)
