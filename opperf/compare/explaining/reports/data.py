"""An explained difference as JSON, with everything in it."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.compare.explaining.difference import Counts, Difference, Row, split


def json_report(difference: Difference, title: str, most: int | None = None) -> str:
    """Returns the difference as one JSON object, which always has every key. Counts are per call of
    the operator. `most` are the functions in it, by default all."""
    shown, rest = split(difference, most)
    content = {
        "case": title,
        "event": difference.event,
        "order": difference.order,
        "base": difference.base._asdict(),
        "new": difference.new._asdict(),
        "change": difference.new_total - difference.base_total,
        "functions": [_function(row) for row in shown],
        "other_functions": rest._asdict(),
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _function(row: Row) -> dict[str, Any]:
    return {
        "name": row.function.name,
        "object": row.function.object,
        "file": row.file,
        "exclusive_change": row.own_change,
        "inclusive_change": row.inclusive_change,
        "base": _counts(row.base),
        "new": _counts(row.new),
    }


def _counts(counts: Counts | None) -> dict[str, float | None] | None:
    if counts is None:
        return None
    return {"exclusive": counts.own, "inclusive": counts.inclusive}
