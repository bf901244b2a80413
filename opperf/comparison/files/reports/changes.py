"""The figures of a comparison of two files, as a page draws them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from opperf.comparison.compared import MISSING, Change, ComparedRow, Comparison
from opperf.comparison.files.reports import sentences
from opperf.comparison.results import TITLE, verdict_text
from opperf.comparison.statistics.data import Verdict
from opperf.model import DIFFERENT
from opperf.reports.model import ChangeRow, Changes, SideSamples
from opperf.results.units import format_figure

BASE, NEW = "Base", "New"
"""Labels of the sides, whose files a page names once."""


def changes_of(comparison: Comparison) -> Changes:
    """Returns all figures."""
    return Changes(
        sides=(comparison.base.name, comparison.new.name),
        threshold=comparison.threshold,
        rows=[
            *(_row(comparison, row) for row in comparison.rows),
            *(_missing_row(change) for change in comparison.changes if change.kind in MISSING),
        ],
        interval="95 % interval",
        facts=tuple(_sides(comparison)),
    )


def _sides(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for label, side in ((BASE, comparison.base), (NEW, comparison.new)):
        yield label, ", ".join(filter(None, (side.name, side.started, side.machine)))


def _row(comparison: Comparison, row: ComparedRow) -> ChangeRow:
    return ChangeRow(
        operator=row.operator,
        inputs=", ".join(filter(None, (row.inputs, row.settings, row.point))),
        metric=row.metric,
        verdict=verdict_text(row.verdict, row.results),
        tone=row.tone,
        finding=f"{TITLE}: {row.difference}" if row.results == DIFFERENT else "",
        ratio=row.ratio,
        low=row.low,
        high=row.high,
        facts=tuple(_facts(comparison, row)),
        notes=tuple(filter(None, (row.note, row.caveat))),
        samples=tuple(_samples(comparison, row)),
        commands=tuple(_commands(comparison, row)),
    )


def _missing_row(change: Change) -> ChangeRow:
    return ChangeRow(
        operator=change.operator,
        inputs=", ".join(filter(None, (change.inputs, change.settings))),
        metric=change.metric,
        verdict=Verdict.MISSING.value,
        tone="worse",
        finding=sentences.missing_text(change),
        facts=(("Id", change.id),) if change.id else (),
    )


def _samples(comparison: Comparison, row: ComparedRow) -> Iterator[SideSamples]:
    base, new = comparison.samples.get((row.id, row.metric), ((), ()))
    if base and new:
        yield SideSamples(BASE, row.unit, base, row.base, row.base_half_width)
        yield SideSamples(NEW, row.unit, new, row.new, row.new_half_width)


def _commands(comparison: Comparison, row: ComparedRow) -> Iterator[tuple[str, str]]:
    """Yields the command that measures the case, that of each side where they differ. Results by
    operator have no cases to measure."""
    calls = {row.id: comparison.base, row.other_id or row.id: comparison.new}
    if not row.other_id and not comparison.base.averages:
        calls = {row.id: comparison.base}
    for id, side in calls.items():
        if id and not side.averages:
            yield "Measure it again", f"opperf run {shlex.quote(side.path)} --id {id}"


def _facts(comparison: Comparison, row: ComparedRow) -> Iterator[tuple[str, str]]:
    unit = sentences.unit_of([row])
    for label, figure in zip((BASE, NEW), row.figures, strict=True):
        value, share, mark = format_figure(figure, unit)
        yield label, " ".join(filter(None, (value, unit.name, share, mark)))
    facts = {
        "Category": row.category,
        "Settings": row.changed_settings,
        "No difference up to": row.tolerance,
        "Id": row.id,
    }
    yield from ((label, text) for label, text in facts.items() if text)
