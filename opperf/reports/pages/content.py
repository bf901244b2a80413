"""The content that a page's script draws: tables to sort, search and filter, and charts; numbers
with as many digits as these show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from opperf.model import Struct

CellKind = Literal["name", "text", "figure", "number", "interval", "verdict", "status"]
"""Of a column: texts, or `[value, half-width, whether it is uncertain]`, a number, `[ratio, low,
high]`, or a word with its tone."""

Cell = str | float | Sequence[Any] | None


class Heading(Struct, frozen=True):
    """A column of a table."""

    title: str
    kind: CellKind
    unit: str = ""
    about: str = ""
    lower_is_better: bool = True
    is_filter: bool = False
    """Whether a list above the table chooses rows by its values."""


class Samples(Struct, frozen=True):
    """The samples of a metric of one case, in their order; of a comparison, those of one side."""

    title: str
    unit: str
    values: list[float]
    taken: int
    """Number of samples that were taken; `values` may be fewer."""
    median: float
    low: float | None = None
    high: float | None = None
    side: str = ""
    """Of a comparison: those of the same title are drawn together."""
    noun: str = "samples"


class Row(Struct, frozen=True):
    """A row of a table, and what it shows when it is opened."""

    cells: tuple[Cell, ...]
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    """Titles and texts to copy: commands, a script."""
    samples: tuple[Samples, ...] = ()
    environment: int | None = None
    """Place among those of the page."""


class DataTable(Struct, frozen=True):
    """A table whose rows the script draws."""

    noun: str
    columns: tuple[Heading, ...]
    rows: tuple[Row, ...]
    order: tuple[int, bool] | None = None
    """Column that the rows are first sorted by, and whether the largest is first."""
    threshold: float | None = None
    """Change that intervals are drawn against, as a share."""
    legend: tuple[str, ...] = ()
    """Sentences above the table that explain its figures."""


class DataLine(Struct, frozen=True):
    """A line of a chart: x, y, and the bounds of the interval of y."""

    name: str
    points: tuple[tuple[float, float, float | None, float | None], ...]
    is_joined: bool = True


class Chart(Struct, frozen=True):
    """A chart of lines."""

    title: str
    x_title: str
    y_title: str
    unit: str
    x_is_log: bool
    y_is_log: bool
    lines: tuple[DataLine, ...]


class Content(Struct, frozen=True):
    """All that the script of a page draws."""

    table: DataTable | None = None
    environments: tuple[tuple[tuple[str, str], ...], ...] = ()
    charts: tuple[Chart, ...] = ()
    preamble: str = ""
    """Lines with which all scripts of cases begin."""

    @property
    def is_empty(self) -> bool:
        return self.table is None and not self.charts


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
