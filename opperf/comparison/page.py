"""The rows of a comparison on a page, whose script draws their intervals against the threshold."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from opperf.comparison.compared import ComparedRow, Comparison, interval_text, ratio_text, size
from opperf.comparison.results import TITLE
from opperf.comparison.sections import Telling
from opperf.model import DIFFERENT
from opperf.reports.model import RowsOnPage
from opperf.reports.pages.content import (
    Cell,
    DataTable,
    Heading,
    Row,
    Samples,
    finite,
    most_samples,
    picked,
    rounded,
)
from opperf.results.units import choose_unit, format_figure
from opperf.shares import share_text
from opperf.statistics.data import Verdict


def page_of(found: Comparison, told: Telling, rows: Sequence[ComparedRow]) -> RowsOnPage:
    """Returns rows of a comparison, with the largest changes first."""
    sides = found.sides if len(found.sides) == 2 else ()
    facts = (
        (label.capitalize(), ", ".join(filter(None, (side.name, side.started, side.machine))))
        for label, side in zip(found.labels, sides, strict=False)
    )
    return RowsOnPage(
        table=_table(found, told, sorted(rows, key=_place)) if rows else None,
        counts=Counter((row.words, row.tone) for row in rows),
        threshold=found.threshold,
        detectable=found.detectable,
        facts=(*facts, *told.facts.items()),
    )


def _table(found: Comparison, told: Telling, rows: Sequence[ComparedRow]) -> DataTable:
    has_detectable = any(row.detectable is not None for row in rows)
    has_findings = any(map(_finding, rows))
    columns = (
        Heading(told.case, "name"),
        Heading("Inputs", "text"),
        Heading("Metric", "text", is_filter=True),
        Heading("Verdict", "verdict", is_filter=True),
        *([Heading("Finding", "text")] if has_findings else []),
        Heading("Ratio", "number"),
        Heading(found.interval, "interval"),
        *([Heading("Detectable", "number", unit="%")] if has_detectable else []),
    )
    most = most_samples(2 * sum((row.id, row.metric) in found.samples for row in rows))
    return DataTable(
        "figure",
        columns,
        tuple(
            Row(
                cells=tuple(_cells(row, has_findings, has_detectable)),
                facts=tuple(_facts(found, row)),
                notes=tuple(
                    filter(None, ("" if row.verdict is Verdict.MISSING else row.note, row.caveat))
                ),
                code=found.again.get(row.id, ()),
                samples=tuple(_samples(found, told, row, most)),
            )
            for row in rows
        ),
        threshold=found.threshold,
        legend=tuple(_legend(found, has_detectable)),
    )


def _legend(found: Comparison, has_detectable: bool) -> Iterator[str]:
    names = [side.name for side in found.sides] if len(found.sides) == 2 else found.labels
    yield (
        f"Ratio: {names[1]} over {names[0]}, 1.100 is 10% more, with its {found.interval}. Shaded: "
        f"changes below the threshold of {share_text(found.threshold)}, which are not of interest; "
        "the line is no change."
    )
    if found.same_within is not None:
        yield f"Same: shown to have changed by less than {share_text(found.same_within)}."
    if has_detectable:
        yield "Detectable: the smallest change that would have been found four times out of five."


def _place(row: ComparedRow) -> tuple[bool, bool, float]:
    """Returns the place of a row: findings first, those beside the figure before others, then by
    the size of the change."""
    return row.tone not in ("worse", "better"), not _finding(row), size(row)


def _finding(row: ComparedRow) -> str:
    """Returns why the verdict is none of the figure: results that differ, or what a side lacks."""
    if row.verdict is Verdict.MISSING:
        return row.note
    return f"{TITLE}: {row.difference}" if row.results == DIFFERENT else ""


def _cells(row: ComparedRow, has_findings: bool, has_detectable: bool) -> Iterator[Cell]:
    yield row.operator
    yield ", ".join(filter(None, (row.inputs, row.settings, row.point)))
    yield row.metric
    yield [row.words, row.tone]
    if has_findings:
        yield _finding(row)
    ratio = _short(row.ratio)
    yield ratio
    yield None if ratio is None else [ratio, _short(row.low), _short(row.high)]
    if has_detectable:
        yield None if row.detectable is None else _short(100 * row.detectable)


def _facts(found: Comparison, row: ComparedRow) -> Iterator[tuple[str, str]]:
    interval = interval_text(row.low, row.high)
    if interval:
        yield "Ratio", f"{ratio_text(row.ratio)}, {interval}"
    unit = choose_unit(row.unit, row.figures)
    for label, figure in zip(found.labels, row.figures, strict=True):
        if figure is not None:
            value, share, mark = format_figure(figure, unit)
            yield label.capitalize(), " ".join(filter(None, (value, unit.name, share, mark)))
    facts = {
        "Category": row.category,
        "Settings": row.changed_settings,
        "No difference up to": row.tolerance,
        "Blocks": "" if row.blocks is None else str(row.blocks),
        "Rests on": row.basis,
        "P-value of a change": "" if row.p is None else f"{row.p:.2g}",
        "Id": row.id,
    }
    yield from ((label, text) for label, text in facts.items() if text)


def _samples(found: Comparison, told: Telling, row: ComparedRow, most: int) -> Iterator[Samples]:
    taken = found.samples.get((row.id, row.metric), ())
    for label, figure, values in zip(found.labels, row.figures, taken, strict=False):
        median = statistics.median(values) if figure is None else figure.value
        width = None if figure is None else figure.half_width
        yield Samples(
            title=row.metric.capitalize(),
            unit=row.unit,
            values=picked(values, most),
            taken=len(values),
            median=_short(median) or 0.0,
            low=None if width is None else _short(median - width),
            high=None if width is None else _short(median + width),
            side=label.capitalize(),
            noun=told.samples,
        )


def _short(value: float | None) -> float | None:
    """Returns a number with the digits that are shown; None where it is none."""
    return None if finite(value) is None else rounded(value or 0.0, 5)
