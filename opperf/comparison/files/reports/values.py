"""A comparison of two files as values, for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from opperf.comparison.files.comparison import Change, Comparison, Row
from opperf.comparison.files.outcome import findings, is_missing
from opperf.comparison.files.reports.sentences import (
    CHANGES,
    figure_texts,
    interval_text,
    ratio_text,
    remarks,
    unit_of,
)
from opperf.comparison.results import TITLE
from opperf.comparison.statistics.data import Verdict
from opperf.model import DIFFERENT
from opperf.reports.data import finite_or_none
from opperf.reports.model import Test

COLUMNS: tuple[tuple[str, Callable[[Row], Any]], ...] = (
    ("id", lambda row: row.id),
    ("operator", lambda row: row.operator),
    ("inputs", lambda row: row.inputs),
    ("settings", lambda row: row.settings),
    ("point", lambda row: row.point),
    ("category", lambda row: row.category),
    ("metric", lambda row: row.metric),
    ("verdict", lambda row: row.verdict.value),
    ("ratio", lambda row: row.ratio),
    ("ratio_low", lambda row: row.low),
    ("ratio_high", lambda row: row.high),
    ("base", lambda row: finite_or_none(row.base)),
    ("new", lambda row: finite_or_none(row.new)),
    ("base_half_width", lambda row: row.base_half_width),
    ("new_half_width", lambda row: row.new_half_width),
    ("unit", lambda row: row.unit),
    ("allowed", lambda row: None if row.allowed is None else finite_or_none(row.allowed)),
    ("note", lambda row: row.note),
    ("caveat", lambda row: row.caveat),
    ("results", lambda row: row.results),
    ("difference", lambda row: row.difference),
)
"""Columns of a row in JSON and CSV; a missing value is null, or an empty cell."""


def rows(comparison: Comparison) -> list[list[Any]]:
    """Returns the values of each row."""
    return [[read(row) for _, read in COLUMNS] for row in comparison.rows]


def values(comparison: Comparison) -> dict[str, Any]:
    """Returns the comparison as values of JSON, always with every key."""
    names = [name for name, _ in COLUMNS]
    return {
        "base": msgspec.structs.asdict(comparison.base),
        "new": msgspec.structs.asdict(comparison.new),
        "threshold": comparison.threshold,
        "limits_file": comparison.limits_file,
        "metrics": comparison.metrics,
        "environment": [
            {"field": name, "base": before, "new": after}
            for name, before, after in comparison.differences
        ],
        "comparable": comparison.comparable,
        "incomparable": comparison.incomparable,
        "cases": [dict(zip(names, row, strict=True)) for row in rows(comparison)],
        "geometric_means": [
            {"category": m.category, "metric": m.metric, "ratio": m.ratio, "cases": m.cases}
            for m in comparison.means
        ],
        "changes": [
            {
                "kind": change.kind.value,
                "id": change.id,
                "operator": change.operator,
                "inputs": change.inputs,
                "settings": change.settings,
                "metric": change.metric,
                "reason": change.reason,
            }
            for change in comparison.changes
        ],
        "results": comparison.results,
        "weighted": comparison.weighted,
        "unmeasured": comparison.unmeasured,
        "notes": comparison.notes,
        "confirm": comparison.confirm,
        "explain": comparison.explain,
    }


def tests(comparison: Comparison) -> list[Test]:
    """Returns a test for each row and each change. Findings of `--fail-on` are failures; ambiguous
    rows and other changes are skipped."""
    return [
        *(_row_test(comparison, row) for row in comparison.rows),
        *(_change_test(comparison, change) for change in comparison.changes),
    ]


def _name(one: Row | Change) -> str:
    """Returns the name of a test, with the settings that are not at their defaults, but not those
    in which it differs from other rows, of which the next report may have others."""
    details = "; ".join(part for part in (one.inputs, one.changed_settings) if part)
    case = f"{one.operator} ({details})" if details else one.operator
    return " ".join(part for part in (case, one.metric) if part)


def _row_test(comparison: Comparison, row: Row) -> Test:
    failed = findings(comparison, row)
    is_open = row.verdict is Verdict.AMBIGUOUS
    return Test(
        operator=row.operator,
        name=_name(row),
        id=row.id,
        result="failure" if failed else "skipped" if is_open else "system-out",
        message=_row_text(row),
        kind=failed[0] if failed else "",
    )


def _row_text(row: Row) -> str:
    unit = unit_of([row])
    parts = [
        f"{row.verdict.value}: {' to '.join(figure_texts(row, unit))} {unit.name}",
        f"ratio {ratio_text(row.ratio)}",
        *([f"interval {interval_text(row)}"] if row.low is not None else []),
        *([remarks(row)] if remarks(row) else []),
        *([f"{TITLE}: {row.difference}"] if row.results == DIFFERENT else []),
    ]
    return ", ".join(parts)


def _change_test(comparison: Comparison, change: Change) -> Test:
    title = CHANGES[change.kind].lower()
    missing = is_missing(comparison, change)
    return Test(
        operator=change.operator,
        name=_name(change),
        id=change.id,
        result="failure" if missing else "skipped",
        message=f"{title}: {change.reason}" if change.reason else title,
        kind="missing" if missing else "",
    )
