"""Records as a table for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from opperf.errors import one_line
from opperf.model import Record, Status
from opperf.results.columns import FigureColumn, select_columns
from opperf.results.settings import differing_settings, settings_text
from opperf.results.terminal import (
    GAP,
    LEAST_TEXT,
    Column,
    figure_column,
    least_width,
    table_text,
    widths_of,
)
from opperf.results.text import Shown, inputs_text, short_inputs, wrap
from opperf.results.units import MARK_LEGEND, Figure

INPUTS_WIDTH = 100
"""Characters of inputs that a table shows in any case, on several lines if it is narrow: those of
most cases. Without a terminal also the most, so that figures are near their operators."""

LEGEND = "Medians, each with the half-width of its 95 % interval."
"""Printed below a table, to explain its figures."""

LEGEND_WIDTH = 100
"""Width of sentences without a terminal."""

STATUS_WIDTH = 50
"""Characters of a reason that a table shows in any case; the summary has more."""


def render_table(
    records: Sequence[Record], width: int | None = None, names: Sequence[str] = ()
) -> str:
    """Returns a table of the records in their order, with the columns of these names, by default
    the medians of their usual metrics, and the status of those that are not ok. No wider than
    `width`: if the figures need more, they are in several tables, one below the other."""
    figures = [metric_column(column, records) for column in select_columns(records, names)]
    texts = [Column("Operator", [record.case.label for record in records])]
    settings, statuses = settings_columns(records), _status_columns(records)
    tables = []
    others = [*texts, whole_inputs(records), *settings, *statuses]
    for part in split_figures(figures, others, width):
        others = [*texts, *settings, *part, *statuses]
        inputs = inputs_column(records, records, others, width)
        tables.append(table_text([*texts, inputs, *settings, *part, *statuses], width))
    return "\n\n".join(tables)


def whole_inputs(records: Iterable[Record]) -> Column:
    """Returns the column of the inputs as they are, where their width is not known yet."""
    return Column("Inputs", [inputs_text(record.case) for record in records], wraps=True)


def split_figures(
    figures: Sequence[Column], texts: Sequence[Column], width: int | None
) -> list[list[Column]]:
    """Splits columns of figures into groups, each of which fits beside the texts."""
    parts: list[list[Column]] = [[]]
    for figure in figures:
        wanted = [*texts, *parts[-1], figure]
        if width is not None and parts[-1] and least_width(wanted) > width:
            parts.append([])
        parts[-1].append(figure)
    return parts


def legend(records: Iterable[Record], columns: Sequence[FigureColumn]) -> list[str]:
    """Returns the sentences that explain the figures of a table: medians, and the mark if one of
    the figures has it."""
    figures = (column.read(record) for record in records for column in columns)
    return [LEGEND, *mark_legend(figures)]


def mark_legend(figures: Iterable[Figure | None]) -> list[str]:
    """Returns the sentence that explains the mark, if one of the figures has it."""
    is_marked = any(figure is not None and figure.is_uncertain for figure in figures)
    return [MARK_LEGEND] if is_marked else []


def wrap_all(sentences: Iterable[str], width: int | None) -> str:
    """Returns sentences, each on lines of its own that fit the width."""
    return "\n".join(wrap(sentence, width or LEGEND_WIDTH) for sentence in sentences)


def settings_columns(records: Sequence[Record]) -> list[Column]:
    """Returns a column of the settings in which the records differ, if they do."""
    names = differing_settings(record.case for record in records)
    cells = [settings_text(record.case, names) for record in records]
    return [Column("Settings", cells, wraps=True)] if names else []


def inputs_column(
    records: Sequence[Record], run: Iterable[Record], others: Iterable[Column], width: int | None
) -> Column:
    """Returns the column of the inputs of some of a run's records, beside the other columns of a
    table of this width."""
    return inputs_texts(map(_shown, records), map(_shown, run), others, width)


def _shown(record: Record) -> Shown:
    return record.case.label, inputs_text(record.case)


def inputs_texts(
    cases: Iterable[Shown], run: Iterable[Shown], others: Iterable[Column], width: int | None
) -> Column:
    """Returns the column of the inputs of some of a run's cases, which use what the other columns
    leave of the width. It distinguishes the run's cases at any width: texts are shortened first,
    and then wrapped."""
    listed, beside = list(cases), list(others)
    line = INPUTS_WIDTH
    if width is not None:
        whole = Column("Inputs", [text for _, text in listed], wraps=True)
        left = width - sum(column.width + GAP for column in beside)
        # Texts beside them that wrap leave more.
        line = max(LEAST_TEXT, left, widths_of([whole, *beside], width)[0])
    short = short_inputs(run, line, math.ceil(INPUTS_WIDTH / line))
    return Column("Inputs", [short[case] for case in listed], wraps=True)


def metric_column(column: FigureColumn, records: Iterable[Record], title: str = "") -> Column:
    """Returns a column of the records' figures."""
    return figure_column(column.metric, [column.read(record) for record in records], title)


def _status_columns(records: Sequence[Record]) -> list[Column]:
    """Returns the column of the statuses that are not ok, if there is one."""
    cells = [
        ""
        if record.status is Status.OK
        else one_line(f"{record.status.value}: {record.reason}", STATUS_WIDTH)
        for record in records
    ]
    return [Column("Status", cells)] if any(cells) else []
