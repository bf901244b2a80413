"""The figures of a comparison as a table of a page."""

from __future__ import annotations

import math

from opperf.reports.model import ChangeRow, Changes
from opperf.reports.pages.content import Cell, DataTable, Heading, Row


def change_table(found: Changes) -> DataTable | None:
    """Returns the table, with the largest changes first; None of a comparison of nothing."""
    if not found.rows:
        return None
    has_detectable = any(row.detectable is not None for row in found.rows)
    rows = sorted(found.rows, key=_size)
    first, second = found.sides
    columns = (
        Heading("Operator", "name"),
        Heading("Inputs", "text"),
        Heading("Metric", "text", is_filter=True),
        Heading("Verdict", "verdict", is_filter=True),
        Heading("Ratio", "number", about=f"{second} over {first}: 1.10 is 10 % more"),
        Heading(found.interval, "interval", about="shaded: less than the threshold"),
        *(
            [Heading("Detectable", "number", unit="%", about="smallest change that would show")]
            if has_detectable
            else []
        ),
    )
    made = tuple(_row(row, has_detectable) for row in rows)
    return DataTable(
        "figure", columns, made, threshold=found.threshold, same_within=found.same_within
    )


def _size(row: ChangeRow) -> tuple[bool, float]:
    """Returns the place of a row: findings first, then by the size of the change."""
    change = abs(math.log(row.ratio)) if row.ratio and row.ratio > 0 else 0.0
    return row.tone not in ("worse", "better"), -change


def _row(row: ChangeRow, has_detectable: bool) -> Row:
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
            _short(row.ratio),
            interval,
            *([detectable] if has_detectable else []),
        ),
        facts=(*_interval_fact(row), *row.facts),
        notes=tuple(row.notes),
    )


def _interval_fact(row: ChangeRow) -> list[tuple[str, str]]:
    if row.ratio is None or row.low is None or row.high is None:
        return []
    return [("Ratio", f"{row.ratio:.3f}, from {row.low:.3f} to {row.high:.3f}")]


def _short(value: float | None) -> float | None:
    """Returns a ratio with the digits that are shown; None where it is no number."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")
