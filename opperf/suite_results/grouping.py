"""Benches by the group that they are in, by a tag, or by the value of a key of their matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.errors import unknown
from opperf.model import BenchFacts
from opperf.suite_results.environments import OWN

GROUP, TAG, ENVIRONMENT = "group", "tag", "env"

NONE = "none"
"""Value of a bench without the key."""


def values_of(bench: BenchFacts, key: str) -> tuple[str, ...]:
    """Returns the values of a bench: several of tags."""
    if key == GROUP:
        return (bench.group or bench.name,)
    if key == TAG:
        return bench.tags or (NONE,)
    if key == ENVIRONMENT:
        return (bench.env or OWN,)
    return (str(bench.point[key]),) if key in bench.point else (NONE,)


def check_keys(keys: Sequence[str], benches: Iterable[BenchFacts]) -> None:
    """Raises `UsageError` for a key that no bench has."""
    known = (
        GROUP,
        TAG,
        ENVIRONMENT,
        *dict.fromkeys(name for bench in benches for name in bench.point),
    )
    for key in keys:
        if key not in known:
            raise unknown("key to group by", key, known)


def rows_by(key: str, benches: Sequence[BenchFacts]) -> dict[str, list[int]]:
    """Returns the rows of benches by value, in the order of the benches."""
    found: dict[str, list[int]] = {}
    for row, bench in enumerate(benches):
        for value in values_of(bench, key):
            found.setdefault(value, []).append(row)
    return found
