"""The tables of a run: its results in a list, by the values of a setting, and by size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from opperf.errors import one_line
from opperf.instruments.times import FORWARD
from opperf.metrics import metrics_in
from opperf.model import DECLARED, Record, Status
from opperf.reports.model import Column, Table, figures, inputs, numbers, texts, words
from opperf.reports.text import WIDTH, render
from opperf.results.columns import (
    BANDWIDTH,
    MOVED,
    FigureColumn,
    bandwidth_figure,
    bandwidth_of,
    column_of,
    select_columns,
)
from opperf.results.figures import CaseFigures
from opperf.results.outliers import Outlier
from opperf.results.projection import Observation, describe, group, number_alike
from opperf.results.settings import (
    alike_text,
    differing_settings,
    dtypes_of,
    noun_of,
    settings_text,
)
from opperf.results.sweeps import point_text, swept_inputs, variables_of
from opperf.results.text import Shown, inputs_text, wrap
from opperf.results.units import Figure, Unit, choose_unit, mark_legend

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

BANDWIDTH_COLUMN = FigureColumn(BANDWIDTH, bandwidth_figure)


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


def case_columns(
    records: Sequence[Record], run: Iterable[Record], settings: Sequence[str], title: str = ""
) -> Iterator[Column]:
    """Yields what some of a run's records are of, their inputs, and these settings."""
    noun = noun_of(record.case for record in records)
    yield words(title or noun.capitalize(), [record.case.label for record in records])
    yield inputs(map(_shown, records), map(_shown, run))
    if settings:
        yield texts("Settings", [settings_text(record.case, settings) for record in records])


def _shown(record: Record) -> Shown:
    return record.case.label, inputs_text(record.case)


def results_table(
    records: Sequence[Record],
    columns: Sequence[FigureColumn],
    settings: Sequence[str] | None = None,
) -> Table:
    """Returns a table of records with these columns, and settings and statuses that differ."""
    if settings is None:
        settings = differing_settings(record.case for record in records)
    statuses = [
        ""
        if record.status is Status.OK
        else one_line(f"{record.status.value}: {record.reason}", STATUS_WIDTH)
        for record in records
    ]
    return Table(
        (
            *case_columns(records, records, settings),
            *(metric_column(column, records) for column in columns),
            *([words("Status", statuses)] if any(statuses) else []),
            *_verification_columns(records),
        ),
        is_split=True,
    )


def outlier_table(found: Sequence[Outlier], run: Iterable[Record]) -> Table:
    """Returns the table of some of a run's outliers."""
    records = [outlier.record for outlier in found]
    outlier, shown, *_ = case_columns(records, run, (), "Outlier")
    moved = [Figure(record.moved_bytes) for record in records]
    return Table(
        (
            outlier,
            words("Pass", [outlier.time.metric.name for outlier in found]),
            shown,
            words("Id", [record.id for record in records]),
            figures(MOVED.title, moved, MOVED.unit),
            figures("Median", [outlier.time.shown for outlier in found], FORWARD.unit),
            figures("Line", [Figure(outlier.expected_ns) for outlier in found], FORWARD.unit),
            numbers("Ratio", [f"{outlier.ratio:.2f}" for outlier in found]),
        ),
        is_split=True,
    )


def _verification_columns(records: Sequence[Record]) -> list[Column]:
    """Returns the column of verifications, where they were asked for."""
    if not any(record.verification for record in records):
        return []
    return [words(VERIFICATION, map(verification_cell, records))]


def verification_cell(record: Record) -> str:
    """Returns the code of a verification, and of a wrong result which one is."""
    found = record.verification
    return "" if found is None else " ".join(filter(None, (found.code.value, found.failed)))


def metric_column(column: FigureColumn, records: Sequence[Record]) -> Column:
    """Returns a column of the records' figures."""
    return figures(column.metric.title, list(map(column.read, records)), column.metric.unit)


def _figures_or_statuses(
    column: FigureColumn, records: Iterable[Record | None]
) -> list[Figure | str | None]:
    return [
        None
        if record is None
        else column.read(record)
        if record.ended == Status.OK.value
        else record.ended
        for record in records
    ]


Row = Mapping[str, Record]
"""The records that differ in the setting of the columns alone, by the text of its value."""


def column_setting(records: Sequence[Record]) -> str:
    """Returns the setting that has columns: of those in which equal cases differ, the one that
    changes their times most; empty without one, and for a sweep."""
    if any(record.case.point for record in records):
        return ""
    names = differing_settings(record.case for record in records)
    effects = {name: _effect(rows_by(name, names, records)) for name in names}
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
    numbered = [number for _, number in number_alike(zip(keys, values, strict=True))]
    found = group(zip(values, records, strict=True), zip(keys, numbered, strict=True))
    # The rows of one operator, and of one case, are together.
    labels = _places(label for label, _, _ in keys)
    cases = _places(text for _, text, _ in keys)
    ordered = sorted(found.items(), key=lambda row: (labels[row[0][0][0]], cases[row[0][0][1]]))
    return [dict(own) for _, own in ordered]


def _places(found: Iterable[str]) -> dict[str, int]:
    return {text: place for place, text in enumerate(dict.fromkeys(found))}


def value_text(record: Record, name: str) -> str:
    """Returns a record's value of a setting, with the name if the value is no word."""
    text = DECLARED[name].text(getattr(record.case.settings, name))
    return text if text[:1].isalpha() and text != "None" else f"{name} {text}".rstrip()


def axis_tables(records: Sequence[Record], names: Sequence[str] = ()) -> list[TitledTable]:
    """Returns a table for each figure, with a column for each value of a setting, if any."""
    setting = column_setting(records)
    if not setting:
        return []
    differing = differing_settings(record.case for record in records)
    rows = rows_by(setting, differing, records)
    values = list(dict.fromkeys(value for row in rows for value in row))
    # All records of a row have its operator and inputs.
    first = [next(iter(row.values())) for row in rows]
    cases = list(case_columns(first, first, [name for name in differing if name != setting]))
    return [
        TitledTable(
            f"{column.metric.title} by {DECLARED[setting].title.lower()}",
            Table((*cases, *_value_columns(column, rows, values)), is_split=True),
        )
        for column in select_columns(records, names)
    ]


def _value_columns(
    column: FigureColumn, rows: Sequence[Row], values: Sequence[str]
) -> Iterator[Column]:
    found = {
        value: _figures_or_statuses(column, [row.get(value) for row in rows]) for value in values
    }
    every = (figure for own in found.values() for figure in own if isinstance(figure, Figure))
    unit = choose_unit(column.metric.unit, every)
    base = values[0]
    for value in values:
        yield figures(value, found[value], unit)
        if value != base:
            ratios = [_ratio(*pair) for pair in zip(found[value], found[base], strict=True)]
            title = f"{value}/{base}"
            yield figures(title if len(title) <= RATIO_TITLE_WIDTH else "ratio", ratios, PLAIN)


def _ratio(figure: Figure | str | None, base: Figure | str | None) -> Figure | None:
    if not isinstance(figure, Figure) or not isinstance(base, Figure) or not base.value:
        return None
    return Figure(figure.value / base.value, None, figure.is_uncertain or base.is_uncertain)


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
        sizes = [
            numbers(variable, [str(point[place]) for point in points])._replace(is_key=True)
            for place, variable in enumerate(variables)
        ]
        tables += (
            TitledTable(title, Table((*sizes, *columns), is_split=True))
            for title, columns in _contents(own, points)
        )
    return tables


def _contents(
    records: Sequence[Record], points: Sequence[Point]
) -> Iterator[tuple[str, list[Column]]]:
    metrics = [metric for metric in metrics_in(records) if metric.usual]
    lines = _lines(records)
    if len(lines) == 1:
        ((name, line),) = lines.items()
        found = [column_of(metric) for metric in metrics]
        columns = [_line_column(column, line, points, column.metric.title) for column in found]
        if any(bandwidth_of(record) for record in records):
            columns.append(_line_column(BANDWIDTH_COLUMN, line, points, "Forward"))
        yield f"{', '.join(name)}: {swept_inputs([record.case for record in records])}", columns
        return
    operators = {name[0] for name in lines}
    of = "" if len(operators) > 1 else f" of {min(operators)}"
    by = ", ".join(variables_of(record.case for record in records))
    for metric in metrics:
        # The name of the only operator is in the table's title.
        yield (
            f"{metric.title}{of} by {by}",
            [
                _line_column(
                    column_of(metric),
                    line,
                    points,
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


def _line_column(column: FigureColumn, line: Line, points: Iterable[Point], title: str) -> Column:
    found = _figures_or_statuses(column, [line.get(point) for point in points])
    return figures(title, found, column.metric.unit)
