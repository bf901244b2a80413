"""Figures: in the milliseconds and kilobytes of MXNet's utility for files and its formats, and for
people in a unit that suits the column, rounded to the significant digits.

A figure with an interval is rounded to the first digit of the half-width, which follows as a
percentage of the figure: 32.7 us ±1.2 %. An uncertain one ends with a mark: 8.0 us ±25 % ?.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from opperf.model import Record


class Unit(NamedTuple):
    """A unit of written figures."""

    name: str
    size: float
    decimals: int | None = None
    """Enough for one nanosecond, or one byte; None for all."""


UNITS = {"ns": Unit("ms", 1e6, 6), "B": Unit("kB", 1e3, 3)}
"""By the metric's unit."""


def unit_of(measured: str) -> Unit:
    """Returns the unit of written figures for a metric's unit: itself if `UNITS` has no other."""
    return UNITS.get(measured) or Unit(measured, 1.0)


NOT_APPLICABLE = "---"
"""A cell without a value, as MXNet's utility writes it."""


def device_label(device: str) -> str:
    """Returns a device as in the keys of results: `cpu/0` for `cpu(0)`."""
    match = re.fullmatch(r"(\w+)\((\d+)\)", device)
    return f"{match[1]}/{match[2]}" if match else device


def sort_by_operator(records: Iterable[Record]) -> list[Record]:
    """Returns the records sorted by operator, those of one operator in their order."""
    return sorted(records, key=lambda record: record.case.label)


SCALES: dict[str, tuple[Unit, ...]] = {
    "ns": (Unit("ns", 1.0), Unit("us", 1e3), Unit("ms", 1e6), Unit("s", 1e9)),
    "B": (Unit("B", 1.0), Unit("kB", 1e3), Unit("MB", 1e6), Unit("GB", 1e9)),
    "B/s": (Unit("GB/s", 1e9),),
    "FLOP/s": (Unit("GFLOP/s", 1e9), Unit("TFLOP/s", 1e12)),
}
"""Units of shown figures by the metric's unit, from small to large."""

DIGITS = 4
"""Significant digits of a figure without an interval: enough for a glance. Files have all."""

LEAST_DIGITS = 2
"""Minimum number of significant digits of a figure whose half-width is less than itself."""

WIDE = 0.1
"""Half-width, as a share, of an uncertain figure: not even its second digit is then known."""

MARK = "?"
"""Ends an uncertain figure. A sign and no colour, so that files, logs and all readers have it."""

MARK_LEGEND = (
    f"{MARK} uncertain: beyond ±{100 * WIDE:.0f} %, drift, two levels, waits for cores, few "
    "samples, or work compiled away."
)
"""Explains the mark below a table that has one."""

LEAST = "≥"
"""Before a count that lacks some."""

BEYOND = "±>100 %"
"""Half-width of a figure that may be more than twice as large: its percentage would say no more."""

LEAST_SHARE = 0.0005
"""Half-width that is not rounded to ±0.0 %, which no measurement is."""

FEW = 6
"""Samples from which their extremes are an interval of 95 %."""

WHOLE_PERCENT = 0.0995
"""Half-width from which it is a whole percentage of two digits: 9.95 % would be 10.0 %."""


class Figure(NamedTuple):
    """A figure in the metric's unit."""

    value: float
    half_width: float | None = None
    """Half-width of its 95 % confidence interval; None without an interval."""
    unreliable: bool = False
    """Whether samples drift, have two levels, waited for a core, are a single one or few equal
    ones, or a compiler has removed most of the work."""
    is_least: bool = False
    """Whether a count lacks some."""

    @property
    def share(self) -> float | None:
        """The half-width as a share of the value; None without an interval."""
        if self.half_width is None or not self.value:
            return None
        share = self.half_width / abs(self.value)
        return share if math.isfinite(share) else None

    @property
    def is_uncertain(self) -> bool:
        return self.unreliable or (self.half_width or 0.0) > WIDE * abs(self.value)


class FigureText(NamedTuple):
    """A figure as text."""

    value: str
    share: str = ""
    mark: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


def mark_legend(figures: Iterable[Figure | None]) -> list[str]:
    """Returns the sentence that explains the mark, if one of the figures has it."""
    is_marked = any(figure is not None and figure.is_uncertain for figure in figures)
    return [MARK_LEGEND] if is_marked else []


def choose_unit(measured: str, figures: Iterable[Figure | None]) -> Unit:
    """Returns the unit in which a column's median has one to three digits before the point."""
    units = SCALES.get(measured, (Unit(measured, 1.0),))
    values = [figure.value for figure in figures if figure is not None]
    sizes = [abs(value) for value in values if math.isfinite(value)]
    middle = median(size for size in sizes if size) if any(sizes) else 0.0
    return next((unit for unit in reversed(units) if middle >= unit.size), units[0])


def format_figure(figure: Figure | None, unit: Unit) -> FigureText:
    """Returns a figure in a unit as text; `---` if there is none, or it is not finite."""
    if figure is None or not math.isfinite(figure.value):
        return FigureText(NOT_APPLICABLE)
    value = figure.value / unit.size
    share = figure.share
    mark = MARK if figure.is_uncertain else ""
    # Equal samples say nothing of how far the next may be.
    if share:
        return FigureText(_digits(value, share), _share_text(share), mark)
    # Bytes, counts and a clock's nanoseconds are integers.
    is_whole = unit.size == 1 and value == int(value)
    text = f"{value:.0f}" if is_whole else _digits(value, None)
    return FigureText(f"{LEAST}{text}" if figure.is_least else text, mark=mark)


def time_text(time_ns: float) -> str:
    """Returns a time without an interval in a unit that suits it."""
    figure = Figure(time_ns)
    unit = choose_unit("ns", [figure])
    return f"{format_figure(figure, unit)} {unit.name}"


def _digits(value: float, share: float | None) -> str:
    if not value:
        return "0"
    first = _place(value)
    if share and share > 1:
        last = first
    elif share is not None:
        last = min(_place(value * share), first - LEAST_DIGITS + 1)
    else:
        last = min(0, first - DIGITS + 1)
    rounded = round(value, -last)
    return f"{rounded:.{max(0, -last)}f}"


def _place(value: float) -> int:
    """Returns the decimal place of the first digit: 0 for 1 to 9, -1 for 0.1 to 0.9."""
    return math.floor(math.log10(abs(value)))


def _share_text(share: float) -> str:
    if share > 1:
        return BEYOND
    if share < LEAST_SHARE:
        return f"±<{200 * LEAST_SHARE:.1f} %"
    return f"±{100 * share:.0f} %" if share >= WHOLE_PERCENT else f"±{100 * share:.1f} %"


def align(column: Sequence[FigureText]) -> list[str]:
    """Returns the cells of a column with aligned points, percent signs and marks."""
    parts = [figure.value.partition(".") for figure in column]
    before = max((len(whole) for whole, _, _ in parts), default=0)
    after = max((len(point) + len(rest) for _, point, rest in parts), default=0)
    shares = max((len(figure.share) for figure in column), default=0)
    marks = max((len(figure.mark) for figure in column), default=0)
    cells = []
    for figure, (whole, point, rest) in zip(column, parts, strict=True):
        cell = f"{whole:>{before}}{point + rest:<{after}}"
        cell += f" {figure.share:>{shares}}" if shares else ""
        cells.append(cell + (f" {figure.mark:<{marks}}" if marks else ""))
    return cells
