"""Patterns that select models by name or by tier, as PyTorch/XLA's benchmarks do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from opperf.errors import UsageError
from opperf.matching import BoundedPattern
from opperf.models.tiers import TIERS

NOTHING = r"(?!)"
"""A pattern that no name matches."""


def patterns_of(tiers: Iterable[int]) -> list[str]:
    """Returns a pattern for each tier, which matches its models' whole names, and no name for a
    number that is no tier."""
    return [
        f"^({'|'.join(map(re.escape, TIERS[tier]))})$" if tier in TIERS else NOTHING
        for tier in tiers
    ]


def joined(patterns: Iterable[str], option: str) -> BoundedPattern | None:
    """Returns the pattern that finds any of these, whatever the case; None without any. Raises
    `UsageError` for one that is no regular expression."""
    listed = list(patterns)
    for pattern in listed:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(
                f"{option} {pattern!r} is no regular expression: {error}; put a \\ before signs "
                "that are meant as they are"
            ) from error
    return BoundedPattern(re.compile("|".join(listed), re.IGNORECASE)) if listed else None
