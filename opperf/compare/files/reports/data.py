"""A comparison as JSON or CSV, with everything in it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from typing import Any

import msgspec

from opperf.compare.files.comparison import Comparison, Row

Column = tuple[str, Callable[[Row], Any]]

COLUMNS: tuple[Column, ...] = (
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
"""Columns of a row in both formats; a missing value is null, or an empty cell."""


def finite_or_none(value: float) -> float | None:
    """The value; None if it is not finite, which JSON cannot express."""
    return value if math.isfinite(value) else None


def json_report(comparison: Comparison) -> str:
    """The comparison as one JSON object, which always has every key."""
    content = {
        "base": _side(comparison.base),
        "new": _side(comparison.new),
        "threshold": comparison.threshold,
        "limits_file": comparison.limits_file,
        "metrics": comparison.metrics,
        "environment": [
            {"field": one.field, "base": one.base, "new": one.new} for one in comparison.differences
        ],
        "cases": [{name: cell(row) for name, cell in COLUMNS} for row in comparison.rows],
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
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _side(side: msgspec.Struct) -> dict[str, Any]:
    return msgspec.structs.asdict(side)


def csv_report(comparison: Comparison) -> str:
    """The rows as CSV, with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in COLUMNS])
    writer.writerows([cell(row) for _, cell in COLUMNS] for row in comparison.rows)
    return text.getvalue()
