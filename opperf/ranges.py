"""Ranges of the integers that a swept variable takes, as a user writes them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

MAX_VALUES = 1000
"""Most values of one range: a plot's width in a terminal is a tenth of it."""

FORM = "write 128..2048:x2, 64..512:+64 or 64,100,128"

INTEGER = r"\d{1,18}"
"""An integer of 64 bits, which every extent and argument is."""

RANGE = re.compile(
    rf"(?P<first>{INTEGER})\.\.(?P<last>{INTEGER}):(?P<sign>[+x])(?P<step>{INTEGER}(?:\.\d+)?)"
)
"""`a..b:+s` or `a..b:xk`."""

VARIABLE = re.compile(r"(?!\d)[^\Wx]+")
"""A name without the x that separates extents."""


UNNAMED = ""
"""Name of a user's shape that has none, which is that of the operator's obvious input."""


def shape_text(name: str, shape: Iterable[int | str]) -> str:
    """Returns the shape of an argument, as the command line has it: `data=16xn`."""
    return f"{name}{'=' if name else ''}{'x'.join(map(str, shape))}"


def is_variable(text: str) -> bool:
    """Whether a text can be the name of a swept variable."""
    return VARIABLE.fullmatch(text) is not None


def check_variable(name: str) -> str:
    """Returns the name of a swept variable. Raises `ValueError` if it cannot be one."""
    if not is_variable(name):
        raise ValueError(
            f"{name!r} is not a name of a variable: letters and digits without x, which separates "
            "extents, e.g. n"
        )
    return name


def read_range(text: str) -> tuple[int, ...]:
    """Returns the integers of a range. Raises `ValueError` for a wrong, empty or long one."""
    values = list(itertools.islice(_values(text), MAX_VALUES + 1))
    if len(values) > MAX_VALUES:
        raise ValueError(f"the range has more than {MAX_VALUES} values; take larger steps")
    # Small multiples may be rounded to the same integer.
    return tuple(dict.fromkeys(values))


def _values(text: str) -> Iterator[int]:
    match = RANGE.fullmatch(text)
    if match is None:
        return _listed(text)
    first, last, step = int(match["first"]), int(match["last"]), float(match["step"])
    if last < first:
        raise ValueError(f"the range is empty, as {last} is less than {first}; {FORM}")
    if match["sign"] == "+":
        if step != int(step) or not step:
            raise ValueError(f"+{match['step']} is not a step; write an integer of at least 1")
        return iter(range(first, last + 1, int(step)))
    if step <= 1 or not first:
        raise ValueError("the range is endless; begin at 1 or more, with a factor greater than 1")
    return _multiples(first, last, step)


def _listed(text: str) -> Iterator[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(INTEGER, word) for word in words):
        if re.fullmatch(rf"{INTEGER}\.\.{INTEGER}", text):
            raise ValueError(f"the range has no step; write {text}:x2, or {text}:+1")
        raise ValueError(f"{text!r} is not a range of integers; {FORM}")
    return map(int, words)


def _multiples(first: int, last: int, factor: float) -> Iterator[int]:
    value = float(first)
    while round(value) <= last:
        yield round(value)
        value *= factor
