"""Numbers with their nouns."""

from __future__ import annotations


def pluralize(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 record`, `2 records`, `2 processes`."""
    if number == 1 or noun.endswith("series"):
        return f"{number} {noun}"
    end = "es" if noun.endswith(("ch", "s")) else "s"
    return f"{number} {noun}{end}"


def counted(number: int, noun: str) -> str:
    """Returns a number of many digits with its noun: `12,345 calls`."""
    return pluralize(number, noun).replace(str(number), f"{number:,}", 1)
