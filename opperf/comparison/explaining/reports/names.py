"""Functions' names and their counts as short texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from opperf.results.figures import NOT_APPLICABLE
from opperf.results.text import MORE, cut_distinct

NAME_WIDTH = 60
"""Characters of a function's name that are shown: C++ names with their templates take thousands.
Figures are then near the names, and fit beside them on a wide terminal."""

BRACKETS = {"<": ">", "(": ")"}

KEPT = re.compile(r"operator(<=>|<<=|>>=|<=|>=|->\*?|<<|>>|<|>|\(\))|\(anonymous namespace\)")
"""Brackets that are the function's name and not around arguments."""


def short_names(names: Sequence[str], width: int = NAME_WIDTH) -> list[str]:
    """Returns shorter texts of functions' names, which are still different: of those that are too
    long, without the arguments of functions and templates, if no other is then the same."""
    short = [name if len(name) <= width else without_arguments(name) for name in names]
    number = Counter(short)
    kept = [one if number[one] == 1 else name for one, name in zip(short, names, strict=True)]
    return cut_distinct(kept, width)


def without_arguments(name: str) -> str:
    """Returns a C++ name with an ellipsis in place of what is between brackets:
    `at::add<…>(…)`."""
    parts: list[str] = []
    closing: list[str] = []
    place = 0
    while place < len(name):
        match = KEPT.match(name, place)
        if match is not None:
            parts += [] if closing else [match[0]]
            place = match.end()
            continue
        letter = name[place]
        if letter in BRACKETS:
            if not closing:
                parts += [letter, MORE, BRACKETS[letter]]
            closing.append(BRACKETS[letter])
        elif closing and letter == closing[-1]:
            closing.pop()
        elif not closing:
            parts.append(letter)
        place += 1
    # Brackets that do not match are not those of arguments.
    return name if closing else "".join(parts)


def decimals_of(values: Iterable[float]) -> int:
    """Returns the decimals of a column: none if all values are whole, like those of one call."""
    return 0 if all(value == int(value) for value in values) else 1


def count_text(value: float, decimals: int) -> str:
    """Returns a count as text."""
    return f"{value:,.{decimals}f}"


def change_text(value: float, decimals: int) -> str:
    """Returns a difference as text, with its sign."""
    return f"{value:+,.{decimals}f}"


def totals_text(base: float, new: float, decimals: int) -> str:
    """Returns two counts with their difference: `5 to 6, +1 (+20.00 %)`."""
    change = new - base
    return (
        f"{count_text(base, decimals)} to {count_text(new, decimals)}, "
        f"{change_text(change, decimals)} ({share_text(change, base)})"
    )


def share_text(change: float, base: float) -> str:
    """Returns a difference as a share of what it is from, `+1.2 %`; a dash from nothing."""
    return f"{100 * change / base:+.2f} %" if base else NOT_APPLICABLE
