"""The figures of a comparison of two files, as a page draws them."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.comparison.files.comparison import Comparison, Row
from opperf.comparison.files.reports import sentences
from opperf.comparison.files.reports.tones import tone_of
from opperf.comparison.results import TITLE
from opperf.model import DIFFERENT
from opperf.reports.model import ChangeRow, Changes
from opperf.results.units import format_figure


def changes_of(comparison: Comparison) -> Changes:
    """Returns all figures."""
    return Changes(
        sides=(comparison.base.name, comparison.new.name),
        threshold=comparison.threshold,
        rows=[_row(comparison, row) for row in comparison.rows],
        interval="95 % interval",
    )


def _row(comparison: Comparison, row: Row) -> ChangeRow:
    return ChangeRow(
        operator=row.operator,
        inputs=", ".join(filter(None, (row.inputs, row.settings, row.point))),
        metric=row.metric,
        verdict=row.verdict.value,
        tone=tone_of(row),
        ratio=row.ratio,
        low=row.low,
        high=row.high,
        facts=tuple(_facts(comparison, row)),
        notes=tuple(filter(None, (row.note, row.caveat))),
    )


def _facts(comparison: Comparison, row: Row) -> Iterator[tuple[str, str]]:
    unit = sentences.unit_of([row])
    sides = (comparison.base, comparison.new)
    figures = (sentences.base_figure(row), sentences.new_figure(row))
    for side, figure in zip(sides, figures, strict=True):
        value, share, mark = format_figure(figure, unit)
        yield side.name, " ".join(filter(None, (value, unit.name, share, mark)))
    facts = {
        "Category": row.category,
        "Settings": row.changed_settings,
        "No difference up to": row.tolerance,
        TITLE: row.difference if row.results == DIFFERENT else "",
        "Id": row.id,
    }
    yield from ((label, text) for label, text in facts.items() if text)
