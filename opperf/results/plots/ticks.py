"""The values that are labelled on the axes of a plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

ROUND = (1, 2, 5)
"""First digits of round numbers."""

LARGE = 100_000
"""Sizes from here on are written with a prefix, in three digits: 1.05M for 2**20."""

PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number_text(value: float) -> str:
    """Returns a number as the label of an axis: `2048`, `0.05`, `1.05M`."""
    if abs(value) < LARGE:
        return f"{value:.6g}"
    size, prefix = next(pair for pair in PREFIXES if abs(value) >= pair[0])
    return f"{value / size:.3g}{prefix}"


def ticks_of(sizes: Sequence[float], most: int, place: Callable[[float], float]) -> list[float]:
    """Returns at most about `most` of the sorted sizes, at places that are no closer than the
    axis's length over `most`; the first and the last are among them."""
    first, last = sizes[0], sizes[-1]
    least = (place(last) - place(first)) / most
    kept = [first]
    for size in sizes[1:-1]:
        if place(size) - place(kept[-1]) >= least and place(last) - place(size) >= least:
            kept.append(size)
    return [*kept, last] if last > first else kept


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Returns at most `most` round numbers from `low` to `high`, both positive: those of 1, 2 and 5
    if they are not too many, else powers of ten; evenly spaced ones where that leaves one."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in (ROUND, (1,)):
        found = [d * 10.0**decade for decade in decades for d in digits]
        inside = [value for value in found if low <= value <= high]
        if 1 < len(inside) <= most:
            return inside
    if len(inside) > most:
        return inside[:: -(-len(inside) // most)]
    return [value for value in linear_ticks(low, high, most) if value > 0]


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Returns at most `most` multiples of a round number from `low` to `high`."""
    least = (high - low) / max(1, most - 1)
    decade = 10.0 ** math.floor(math.log10(least))
    step = next(d * decade for d in (*ROUND, 10) if d * decade >= least * (1 - 1e-9))
    count = math.floor(high / step + 1e-9)
    return [number * step for number in range(math.ceil(low / step - 1e-9), count + 1)]
