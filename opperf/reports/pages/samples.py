"""Samples as a page draws them: not all of very many, and with few digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST_SAMPLES = 400
"""Most samples of a metric of a case: a point for each pixel of a chart."""

ALL_SAMPLES = 120_000
"""Most samples of a page: 0.8 MB, so that one of a thousand operators stays below 3 MB."""

FEWEST_SAMPLES = 8
"""Fewest samples of a metric, however many cases there are."""

DIGITS = 4
"""Significant digits of samples, which are points of a chart."""


def most_samples(series: int) -> int:
    """Returns the most samples of each of so many series of a page."""
    return min(MOST_SAMPLES, max(FEWEST_SAMPLES, ALL_SAMPLES // max(1, series)))


def picked(taken: Sequence[float], most: int) -> list[float]:
    """Returns samples evenly through the measurement, so that drift and levels can be seen."""
    count = min(most, len(taken))
    values = (taken[index * len(taken) // count] for index in range(count))
    return [rounded(value) for value in values if math.isfinite(value)]


def rounded(value: float, digits: int = DIGITS) -> float:
    """Returns a number with few digits; an integer where it is one, which is shorter."""
    found = float(f"{value:.{digits}g}")
    return int(found) if found.is_integer() and abs(found) < 2**53 else found


def finite(value: float | None) -> float | None:
    """Returns a number; None where it is none, which JSON cannot express."""
    return value if value is not None and math.isfinite(value) else None
