"""A comparison of two files as values, for programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from opperf.comparison.compared import (
    MISSING,
    Change,
    ComparedRow,
    Comparison,
    interval_text,
    ratio_text,
)
from opperf.comparison.files.outcome import findings, is_missing
from opperf.comparison.files.reports import sentences
from opperf.comparison.results import TITLE, verdict_text
from opperf.comparison.statistics.data import Verdict
from opperf.model import DIFFERENT
from opperf.reports.model import Test


def finite_or_none(value: float) -> float | None:
    """Returns the value; None if it is not finite, which JSON cannot express."""
    return value if math.isfinite(value) else None


COLUMNS: dict[str, Callable[[ComparedRow], Any]] = {
    **{
        name: attrgetter(name)
        for name in ("id", "operator", "inputs", "settings", "point", "category", "metric")
    },
    "verdict": lambda row: row.verdict.value,
    "ratio": attrgetter("ratio"),
    "ratio_low": attrgetter("low"),
    "ratio_high": attrgetter("high"),
    "base": lambda row: finite_or_none(row.base),
    "new": lambda row: finite_or_none(row.new),
    **{name: attrgetter(name) for name in ("base_half_width", "new_half_width", "unit")},
    "allowed": lambda row: None if row.allowed is None else finite_or_none(row.allowed),
    **{name: attrgetter(name) for name in ("note", "caveat", "results", "difference")},
}
"""Columns of a row in JSON and CSV; a missing value is null, or an empty cell."""

OF_CHANGE: dict[str, Callable[[Change], Any]] = {
    **{name: attrgetter(name) for name in ("id", "operator", "inputs", "settings", "metric")},
    "verdict": lambda change: Verdict.MISSING.value,
    "note": sentences.missing_text,
}
"""Columns of a missing case in CSV; the others are empty."""

CHANGE_KEYS = ("id", "operator", "inputs", "settings", "metric", "reason")
"""Fields of a change in JSON, after its kind."""


def rows(comparison: Comparison) -> list[list[Any]]:
    """Returns the values of each row, and of what is missing."""
    gone = [change for change in comparison.changes if change.kind in MISSING]
    return [
        *(_values(row) for row in comparison.rows),
        *(
            [OF_CHANGE[name](change) if name in OF_CHANGE else None for name in COLUMNS]
            for change in gone
        ),
    ]


def _values(row: ComparedRow) -> list[Any]:
    return [read(row) for read in COLUMNS.values()]


def values(comparison: Comparison) -> dict[str, Any]:
    """Returns the comparison as values of JSON, always with every key."""
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
        "cases": [dict(zip(COLUMNS, _values(row), strict=True)) for row in comparison.rows],
        "geometric_means": list(map(msgspec.structs.asdict, comparison.groups)),
        "changes": [
            {
                "kind": change.kind.value,
                "verdict": Verdict.MISSING.value if change.kind in MISSING else None,
            }
            | {name: getattr(change, name) for name in CHANGE_KEYS}
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
    """Returns a test for each row and change; findings of `--fail-on` are failures."""
    return [
        *(_row_test(comparison, row) for row in comparison.rows),
        *(_change_test(comparison, change) for change in comparison.changes),
    ]


def _name(one: ComparedRow | Change) -> str:
    """Returns the name of a test, with the settings that are not at their defaults, but not those
    in which it differs from other rows, of which the next report may have others."""
    details = "; ".join(part for part in (one.inputs, one.changed_settings) if part)
    case = f"{one.operator} ({details})" if details else one.operator
    return " ".join(part for part in (case, one.metric) if part)


def _row_test(comparison: Comparison, row: ComparedRow) -> Test:
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


def _row_text(row: ComparedRow) -> str:
    unit = sentences.unit_of([row])
    figures = " to ".join(sentences.figure_texts(row, unit))
    parts = [
        f"{verdict_text(row.verdict, row.results)}: {figures} {unit.name}",
        *([f"ratio {ratio_text(row.ratio)}"] if row.ratio is not None else []),
        *([f"interval {interval_text(row.low, row.high)}"] if row.low is not None else []),
        *([sentences.remarks(row)] if sentences.remarks(row) else []),
        *([f"{TITLE}: {row.difference}"] if row.results == DIFFERENT else []),
    ]
    return ", ".join(parts)


def _change_test(comparison: Comparison, change: Change) -> Test:
    missing = is_missing(comparison, change)
    return Test(
        operator=change.operator,
        name=_name(change),
        id=change.id,
        result="failure" if missing else "skipped",
        message=sentences.missing_text(change),
        kind="missing" if missing else "",
    )
