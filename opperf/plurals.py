"""Numbers with their nouns."""

from __future__ import annotations


def pluralize(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 record`, `2 records`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
