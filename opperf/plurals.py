"""Numbers with their nouns."""

from __future__ import annotations


def pluralize(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 record`, `2 records`, `2 processes`."""
    end = "" if number == 1 else "es" if noun.endswith(("ch", "s")) else "s"
    return f"{number} {noun}{end}"
