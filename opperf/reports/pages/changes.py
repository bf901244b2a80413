"""The figures of a comparison as a table of a page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from opperf.reports.model import ChangeRow, Changes, SideSamples
from opperf.reports.pages.cases import most_samples, picked
from opperf.reports.pages.content import Cell, DataTable, Heading, Row, Samples
from opperf.shares import share_text


def change_table(found: Changes) -> DataTable | None:
    """Returns the table, with the largest changes first; None of a comparison of nothing."""
    if not found.rows:
        return None
    has_detectable = any(row.detectable is not None for row in found.rows)
    has_findings = any(row.finding for row in found.rows)
    rows = sorted(found.rows, key=_size)
    columns = (
        Heading("Operator", "name"),
        Heading("Inputs", "text"),
        Heading("Metric", "text", is_filter=True),
        Heading("Verdict", "verdict", is_filter=True),
        *([Heading("Finding", "text")] if has_findings else []),
        Heading("Ratio", "number"),
        Heading(found.interval, "interval"),
        *([Heading("Detectable", "number", unit="%")] if has_detectable else []),
    )
    most = most_samples(sum(len(row.samples) for row in rows))
    made = tuple(_row(found, row, has_findings, has_detectable, most) for row in rows)
    return DataTable(
        "figure",
        columns,
        made,
        threshold=found.threshold,
        legend=tuple(_legend(found, has_detectable)),
    )


def _legend(found: Changes, has_detectable: bool) -> Iterator[str]:
    first, second = found.sides
    edge = share_text(found.threshold)
    yield (
        f"Ratio: {second} over {first}, 1.100 is 10% more, with its {found.interval}. Shaded: "
        f"changes below the threshold of {edge}, which are not of interest; the line is no change."
    )
    if found.same_within is not None:
        yield f"Same: shown to have changed by less than {share_text(found.same_within)}."
    if has_detectable:
        yield "Detectable: the smallest change that would have been found four times out of five."


def _size(row: ChangeRow) -> tuple[bool, bool, float]:
    """Returns the place of a row: findings first, those beside the figure before others, then by
    the size of the change."""
    change = abs(math.log(row.ratio)) if row.ratio and row.ratio > 0 else 0.0
    return row.tone not in ("worse", "better"), not row.finding, -change


def _row(
    found: Changes, row: ChangeRow, has_findings: bool, has_detectable: bool, most: int
) -> Row:
    interval: Cell = None
    if row.ratio is not None and math.isfinite(row.ratio):
        interval = [_short(row.ratio), _short(row.low), _short(row.high)]
    detectable = None if row.detectable is None else _short(100 * row.detectable)
    return Row(
        cells=(
            row.operator,
            row.inputs,
            row.metric,
            [row.verdict, row.tone],
            *([row.finding] if has_findings else []),
            _short(row.ratio),
            interval,
            *([detectable] if has_detectable else []),
        ),
        facts=(*_interval_fact(row), *row.facts),
        notes=tuple(row.notes),
        code=tuple(row.commands),
        samples=tuple(_samples(found, row, side, most) for side in row.samples),
    )


def _samples(found: Changes, row: ChangeRow, side: SideSamples, most: int) -> Samples:
    width = side.half_width
    return Samples(
        title=row.metric.capitalize(),
        unit=side.unit,
        values=picked(side.values, most),
        taken=len(side.values),
        median=_short(side.median) or 0.0,
        low=None if width is None else _short(side.median - width),
        high=None if width is None else _short(side.median + width),
        side=side.side,
        noun=found.samples,
    )


def _interval_fact(row: ChangeRow) -> list[tuple[str, str]]:
    if row.ratio is None or row.low is None or row.high is None:
        return []
    return [("Ratio", f"{row.ratio:.3f}, from {row.low:.3f} to {row.high:.3f}")]


def _short(value: float | None) -> float | None:
    """Returns a number with the digits that are shown; None where it is none."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")
