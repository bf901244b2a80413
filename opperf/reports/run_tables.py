"""The tables of a run: its results in a list, by the values of a setting, and by size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from opperf.errors import one_line
from opperf.metrics import metrics_in
from opperf.model import DECLARED, Record, Status
from opperf.reports.fields import NUMBER, TEXT, TIME, WORD, Field, figure, number, table_of
from opperf.reports.model import Table
from opperf.reports.text import WIDTH, render
from opperf.results.columns import MOVED, column_of, select_columns
from opperf.results.figures import CaseFigures
from opperf.results.outliers import Outlier
from opperf.results.projection import Observation, describe, group, number_alike
from opperf.results.rates import BANDWIDTH, FigureColumn
from opperf.results.settings import (
    alike_text,
    differing_settings,
    dtypes_of,
    noun_of,
    settings_text,
)
from opperf.results.sweeps import point_text, swept_inputs, variables_of
from opperf.results.text import Shown, inputs_text, wrap
from opperf.results.units import Figure, Unit, mark_legend

LEGEND = "Medians, each with the half-width of its 95 % interval."
"""Printed below a table, to explain its figures."""

STATUS_WIDTH = 50
"""Characters of a reason that a table shows in any case; the summary has more."""

RATIO_TITLE_WIDTH = 24
"""Most characters of a title that names both values of a ratio."""

NAME_WIDTH = 40
"""Characters of a line in a column's title: half the width of a narrow terminal."""

VERIFICATION = "Verification"
"""Header of a column of codes."""

PLAIN = Unit("", 1.0)


class TitledTable(NamedTuple):
    """A table of records. Figures that have no room are in further tables."""

    title: str
    table: Table


def legend(records: Iterable[Record], columns: Sequence[FigureColumn]) -> list[str]:
    """Returns the sentences that explain the figures of a table."""
    found = (column.read(record) for record in records for column in columns)
    return [LEGEND, *mark_legend(found)]


def wrap_all(sentences: Iterable[str], width: int | None) -> str:
    """Returns sentences, each on lines of its own that fit the width."""
    return "\n".join(wrap(sentence, width or WIDTH) for sentence in sentences)


def run_text(records: Sequence[Record], width: int | None = None, names: Sequence[str] = ()) -> str:
    """Returns the tables of a run, none wider than `width`: by size of a sweep, by the values of a
    setting, or else a list, with these columns or the usual ones."""
    found = sweep_tables(records)
    others = [record for record in records if not record.case.point]
    if others:
        found += axis_tables(others, names) or [
            TitledTable("", results_table(others, select_columns(others, names)))
        ]
    parts = []
    for title, table in found:
        parts += [wrap(title, width) if width else title, render(table, width)]
    return "\n\n".join(filter(None, parts))


def case_fields(
    records: Sequence[Record], run: Iterable[Record], settings: Sequence[str], title: str = ""
) -> list[Field[Record]]:
    """Returns the columns of what some of a run's records are of, their inputs, and these
    settings."""
    noun = title or noun_of(record.case for record in records).capitalize()
    return [
        Field("", noun, WORD, lambda record: record.case.label),
        Field("", "Inputs", TEXT, _shown, among=list(map(_shown, run))),
        Field(
            "",
            "Settings" if settings else None,
            TEXT,
            lambda record: settings_text(record.case, settings),
        ),
    ]


def _shown(record: Record) -> Shown:
    return record.case.label, inputs_text(record.case)


def _status_text(record: Record) -> str:
    if record.status is Status.OK:
        return ""
    return one_line(f"{record.status.value}: {record.reason}", STATUS_WIDTH)


def results_table(
    records: Sequence[Record],
    columns: Sequence[FigureColumn],
    settings: Sequence[str] | None = None,
) -> Table:
    """Returns a table of records with these columns, and settings and statuses that differ."""
    if settings is None:
        settings = differing_settings(record.case for record in records)
    # Where verifications were asked for.
    is_verified = any(record.verification for record in records)
    fields: list[Field[Record]] = [
        *case_fields(records, records, settings),
        *map(metric_field, columns),
        Field("", "Status", WORD, _status_text, is_optional=True),
        Field("", VERIFICATION if is_verified else None, WORD, verification_cell),
    ]
    return table_of(fields, records, is_split=True)


def outlier_table(found: Sequence[Outlier], run: Iterable[Record]) -> Table:
    """Returns the table of some of a run's outliers."""
    records = [outlier.record for outlier in found]
    cases: list[Field[Outlier]] = [
        field.of(lambda outlier: outlier.record)
        for field in case_fields(records, run, (), "Outlier")
    ]
    fields: tuple[Field[Outlier], ...] = (
        cases[0],
        Field("", "Pass", WORD, lambda outlier: outlier.time.metric.name),
        cases[1],
        Field("", "Id", WORD, lambda outlier: outlier.record.id),
        Field("", MOVED.title, figure(MOVED.unit), lambda outlier: outlier.record.moved_bytes),
        Field("", "Median", TIME, lambda outlier: outlier.time.shown),
        Field("", "Line", TIME, lambda outlier: outlier.expected_ns),
        Field("", "Ratio", number("{:.2f}".format), lambda outlier: outlier.ratio),
    )
    return table_of(fields, found, is_split=True)


def verification_cell(record: Record) -> str:
    """Returns the code of a verification, and of a wrong result which one is."""
    found = record.verification
    return "" if found is None else " ".join(filter(None, (found.code.value, found.failed)))


def metric_field(column: FigureColumn) -> Field[Record]:
    """Returns the column of the figures of records."""
    if column.text is not None:
        return Field("", column.metric.title, WORD, column.text)
    return Field("", column.metric.title, figure(column.metric.unit), column.read)


def _figure_or_status(column: FigureColumn, record: Record | None) -> Figure | str | None:
    if record is None:
        return None
    if record.ended != Status.OK.value:
        return record.ended
    return column.read(record) if column.text is None else column.text(record)


Row = Mapping[str, Record]
"""The records that differ in the setting of the columns alone, by the text of its value."""


def column_setting(records: Sequence[Record]) -> str:
    """Returns the setting that has columns: of those in which equal cases differ, the one that
    changes their times most; empty without one, and for a sweep."""
    if any(record.case.point for record in records):
        return ""
    names = differing_settings(record.case for record in records)
    effects = {name: _effect(_rows_by(name, names, records)) for name in names}
    return max(effects, key=lambda name: effects[name], default="") if any(effects.values()) else ""


def _effect(rows: Sequence[Row]) -> float:
    """Returns the mean log factor between a row's extremes; 0 if most rows have one value."""
    joined = [row for row in rows if len(row) > 1]
    if 2 * len(joined) < len(rows):
        return 0.0
    logs = [math.log(max(times) / min(times)) for row in joined if (times := _times(row))]
    return math.fsum(logs) / len(joined) + 1e-9


def _times(row: Row) -> list[float]:
    found = (CaseFigures(record).of("forward") for record in row.values())
    return [time.median for time in found if time is not None and 0 < time.median < math.inf]


def _rows_by(name: str, names: Sequence[str], records: Sequence[Record]) -> list[Row]:
    """Returns the records by operator, inputs and the differing settings (`names`) but one."""
    dtypes = dtypes_of(record.case for record in records)
    others = [other for other in names if other != name]
    keys = [
        (record.case.label, alike_text(record.case, dtypes), settings_text(record.case, others))
        for record in records
    ]
    values = [_value_text(record, name) for record in records]
    # Cases that look alike have a row each, by their order.
    numbered = [number for _, number in number_alike(zip(keys, values, strict=True))]
    found = group(zip(values, records, strict=True), zip(keys, numbered, strict=True))
    # The rows of one operator, and of one case, are together.
    labels = _places(label for label, _, _ in keys)
    cases = _places(text for _, text, _ in keys)
    ordered = sorted(found.items(), key=lambda row: (labels[row[0][0][0]], cases[row[0][0][1]]))
    return [dict(own) for _, own in ordered]


def _places(found: Iterable[str]) -> dict[str, int]:
    return {text: place for place, text in enumerate(dict.fromkeys(found))}


def _value_text(record: Record, name: str) -> str:
    """Returns a record's value of a setting, with the name if the value is no word."""
    text = DECLARED[name].text(getattr(record.case.settings, name))
    return text if text[:1].isalpha() and text != "None" else f"{name} {text}".rstrip()


def axis_tables(records: Sequence[Record], names: Sequence[str] = ()) -> list[TitledTable]:
    """Returns a table for each figure, with a column for each value of a setting, if any."""
    setting = column_setting(records)
    if not setting:
        return []
    differing = differing_settings(record.case for record in records)
    rows = _rows_by(setting, differing, records)
    values = list(dict.fromkeys(value for row in rows for value in row))
    # All records of a row have its operator and inputs.
    first = [_first(row) for row in rows]
    others = [name for name in differing if name != setting]
    cases = [field.of(_first) for field in case_fields(first, first, others)]
    return [
        TitledTable(
            f"{column.metric.title} by {DECLARED[setting].title.lower()}",
            table_of((*cases, *_value_fields(column, values)), rows, is_split=True),
        )
        for column in select_columns(records, names)
    ]


def _first(row: Row) -> Record:
    return next(iter(row.values()))


def _value_fields(column: FigureColumn, values: Sequence[str]) -> Iterator[Field[Row]]:
    def reader(value: str) -> Callable[[Row], Figure | str | None]:
        return lambda row: _figure_or_status(column, row.get(value))

    def ratio(value: str) -> Callable[[Row], Figure | None]:
        return lambda row: _ratio(reader(value)(row), reader(base)(row))

    base, alike = values[0], replace(figure(column.metric.unit), is_alike=True)
    for value in values:
        yield Field("", value, alike, reader(value))
        if value != base:
            title = f"{value}/{base}"
            short = title if len(title) <= RATIO_TITLE_WIDTH else "ratio"
            yield Field("", short, figure(PLAIN), ratio(value))


def _ratio(one: Figure | str | None, base: Figure | str | None) -> Figure | None:
    if not isinstance(one, Figure) or not isinstance(base, Figure) or not base.value:
        return None
    return Figure(one.value / base.value, None, one.is_uncertain or base.is_uncertain)


def is_swept(records: Iterable[Record]) -> bool:
    """Whether some records are points of a sweep."""
    return any(record.case.point for record in records)


def row_count(records: Sequence[Record]) -> int:
    """Returns the number of rows of the records' tables."""
    swept = {point_text(record.case.point) for record in records if record.case.point}
    return len(swept) + sum(not record.case.point for record in records)


Point = tuple[int, ...]
"""The values of a row's variables."""

Line = Mapping[Point, Record]
"""The records that differ in their sizes only."""


def sweep_tables(records: Sequence[Record]) -> list[TitledTable]:
    """Returns the tables of the records that are points of a sweep, with a row for each point: one
    of a single line's metrics, otherwise one for each usual metric, with a column for each line."""
    swept = [record for record in records if record.case.point]
    tables: list[TitledTable] = []
    for variables, own in group(swept, (tuple(record.case.point) for record in swept)).items():
        points = sorted({tuple(record.case.point.values()) for record in own})
        sizes = list(map(_size_field, range(len(variables)), variables))
        tables += (
            TitledTable(title, table_of((*sizes, *fields), points, is_split=True))
            for title, fields in _contents(own)
        )
    return tables


def _size_field(place: int, variable: str) -> Field[Point]:
    return Field("", variable, NUMBER, lambda point: point[place], is_key=True)


def _contents(records: Sequence[Record]) -> Iterator[tuple[str, list[Field[Point]]]]:
    metrics = [metric for metric in metrics_in(records) if metric.usual]
    lines = _lines(records)
    if len(lines) == 1:
        ((name, line),) = lines.items()
        fields = [_line_field(column_of(metric), line, metric.title) for metric in metrics]
        if any(map(BANDWIDTH.read, records)):
            fields.append(_line_field(BANDWIDTH, line, "Forward"))
        yield f"{', '.join(name)}: {swept_inputs([record.case for record in records])}", fields
        return
    operators = {name[0] for name in lines}
    of = "" if len(operators) > 1 else f" of {min(operators)}"
    by = ", ".join(variables_of(record.case for record in records))
    for metric in metrics:
        # The name of the only operator is in the table's title.
        yield (
            f"{metric.title}{of} by {by}",
            [
                _line_field(
                    column_of(metric),
                    line,
                    "".join(f"{wrap(word, NAME_WIDTH)}\n" for word in name[len(operators) == 1 :]),
                )
                for name, line in lines.items()
            ],
        )


def _lines(records: Sequence[Record]) -> dict[tuple[str, ...], Line]:
    observed = [Observation(record) for record in records]
    variables = variables_of(record.case for record in records)
    names = [tuple(filter(None, own.values())) for own in describe(observed, without=variables)]
    lines = {
        name: {tuple(record.case.point.values()): record for record in own}
        for name, own in group(records, names).items()
    }
    by_operator = group(lines, (name[0] for name in lines))
    return {name: lines[name] for own in by_operator.values() for name in own}


def _line_field(column: FigureColumn, line: Line, title: str) -> Field[Point]:
    return Field(
        "",
        title,
        figure(column.metric.unit),
        lambda point: _figure_or_status(column, line.get(point)),
    )
