"""Runs with several values of a setting as tables by that setting: a row for each case, a column
for each value, and the ratios to the first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.model import DECLARED, Record, Status
from opperf.results.alike import alike_text, dtypes_of
from opperf.results.columns import FigureColumn, select_columns
from opperf.results.figures import Unit
from opperf.results.projection import group, number_alike
from opperf.results.settings import differing_settings, settings_text
from opperf.results.table import inputs_column, split_figures, whole_inputs
from opperf.results.terminal import Column, table_text
from opperf.results.text import wrap
from opperf.results.units import Figure, FigureText, align, choose_unit, format_figure

RATIO_TITLE_WIDTH = 24
"""Most characters of a title that names both values of a ratio."""

PLAIN = Unit("", 1.0)


class Row(NamedTuple):
    """The records that differ in the setting of the columns alone."""

    records: dict[str, Record]
    """By the text of the value."""

    @property
    def first(self) -> Record:
        """The record that stands for the row: all have its operator and inputs."""
        return next(iter(self.records.values()))


class AxisTable(NamedTuple):
    """One figure of all rows, by the values of a setting."""

    title: str
    rows: tuple[Row, ...]
    settings: tuple[str, ...]
    """Further settings in which rows differ."""
    columns: tuple[Column, ...]
    """Of each value, and of its ratio to the first."""


def column_setting(records: Sequence[Record]) -> str:
    """Returns the setting that has a column for each value: of those in which otherwise equal cases
    differ the one that changes their times most. Empty if there is none, and for records of a
    sweep."""
    if any(record.case.point for record in records):
        return ""
    names = differing_settings(record.case for record in records)
    effects = {name: _effect(rows_by(name, names, records)) for name in names}
    return max(effects, key=lambda name: effects[name], default="") if any(effects.values()) else ""


def _effect(rows: Sequence[Row]) -> float:
    """Returns the mean factor, as a logarithm, between the fastest and the slowest value of a row;
    zero if most rows have one value, and nearly so without times."""
    joined = [row for row in rows if len(row.records) > 1]
    if 2 * len(joined) < len(rows):
        return 0.0
    logs = [math.log(max(times) / min(times)) for row in joined if (times := _times(row))]
    return math.fsum(logs) / len(joined) + 1e-9


def _times(row: Row) -> list[float]:
    measured = [record for record in row.records.values() if record.summaries]
    found = [record.summaries["forward"].median for record in measured]
    return [time for time in found if time > 0 and math.isfinite(time)]


def rows_by(name: str, names: Sequence[str], records: Sequence[Record]) -> list[Row]:
    """Returns the records by operator, inputs and the differing settings (`names`) but one."""
    dtypes = dtypes_of(record.case for record in records)
    others = [other for other in names if other != name]
    keys = [
        (record.case.label, alike_text(record.case, dtypes), settings_text(record.case, others))
        for record in records
    ]
    values = [value_text(record, name) for record in records]
    # Cases that look alike have a row each, by their order.
    numbers = [number for _, number in number_alike(zip(keys, values, strict=True))]
    found = group(zip(values, records, strict=True), zip(keys, numbers, strict=True))
    # The rows of one operator, and of one case, are together.
    labels = _places(label for label, _, _ in keys)
    cases = _places(inputs for _, inputs, _ in keys)
    ordered = sorted(found.items(), key=lambda row: (labels[row[0][0][0]], cases[row[0][0][1]]))
    return [Row(dict(own)) for _, own in ordered]


def _places(texts: Iterable[str]) -> dict[str, int]:
    return {text: place for place, text in enumerate(dict.fromkeys(texts))}


def value_text(record: Record, name: str) -> str:
    """Returns a record's value of a setting, with the setting's name if the value is a number or
    nothing."""
    text = DECLARED[name].text(getattr(record.case.settings, name))
    return text if text[:1].isalpha() and text != "None" else f"{name} {text}".rstrip()


def axis_tables(records: Sequence[Record], names: Sequence[str] = ()) -> list[AxisTable]:
    """Returns a table for each figure of these names, by default the usual ones; none if no setting
    can have columns."""
    setting = column_setting(records)
    if not setting:
        return []
    differing = differing_settings(record.case for record in records)
    rows = tuple(rows_by(setting, differing, records))
    values = list(dict.fromkeys(value for row in rows for value in row.records))
    others = tuple(name for name in differing if name != setting)
    return [
        AxisTable(
            f"{column.metric.title} by {DECLARED[setting].title.lower()}",
            rows,
            others,
            tuple(_figure_columns(column, rows, values)),
        )
        for column in select_columns(records, names)
    ]


def _figure_columns(
    column: FigureColumn, rows: Sequence[Row], values: Sequence[str]
) -> list[Column]:
    """Returns the columns of the values, all in one unit, and of the ratios to the first."""
    figures = {
        value: [column.read(row.records[value]) if value in row.records else None for row in rows]
        for value in values
    }
    unit = choose_unit(column.metric.unit, [figure for own in figures.values() for figure in own])
    first = values[0]
    columns = []
    for value in values:
        texts = [
            _text(row.records.get(value), figure, unit)
            for row, figure in zip(rows, figures[value], strict=True)
        ]
        columns.append(Column(f"{value} {unit.name}".rstrip(), align(texts), is_text=False))
        if value != first:
            ratios = [
                format_figure(_ratio(one, base), PLAIN)
                for one, base in zip(figures[value], figures[first], strict=True)
            ]
            title = f"{value}/{first}"
            title = title if len(title) <= RATIO_TITLE_WIDTH else "ratio"
            columns.append(Column(title, align(ratios), is_text=False))
    return columns


def _text(record: Record | None, figure: Figure | None, unit: Unit) -> FigureText:
    """Returns a figure, or the status of a record without any."""
    if record is not None and record.status is not Status.OK:
        return FigureText(record.status.value)
    return format_figure(figure, unit)


def _ratio(figure: Figure | None, base: Figure | None) -> Figure | None:
    """Returns the ratio of two figures, which is uncertain if one of them is."""
    if figure is None or base is None or not base.value:
        return None
    return Figure(figure.value / base.value, None, figure.is_uncertain or base.is_uncertain)


def text_columns(table: AxisTable) -> list[Column]:
    """Returns the columns of the operators, and of the settings in which rows differ."""
    columns = [Column("Operator", [row.first.case.label for row in table.rows])]
    if table.settings:
        cells = [settings_text(row.first.case, table.settings) for row in table.rows]
        columns.append(Column("Settings", cells, wraps=True))
    return columns


def render_by_axis(
    records: Sequence[Record], width: int | None = None, names: Sequence[str] = ()
) -> str:
    """Returns the tables, none wider than `width`: if the figures need more, they are in several
    parts, one below the other. Empty if no setting can have columns."""
    sections = []
    for table in axis_tables(records, names):
        operator, *settings = text_columns(table)
        first = [row.first for row in table.rows]
        parts = [wrap(table.title, width) if width else table.title]
        texts = [operator, whole_inputs(first), *settings]
        for part in split_figures(table.columns, texts, width):
            inputs = inputs_column(first, first, [operator, *settings, *part], width)
            parts.append(table_text([operator, inputs, *settings, *part], width))
        sections.append("\n\n".join(parts))
    return "\n\n".join(sections)
