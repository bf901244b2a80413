"""The records and metrics that a plot draws, the dimensions by which it tells lines and panels
apart, and the values that are labelled on its axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from opperf.errors import UsageError, unknown
from opperf.metrics import metrics_by_name, metrics_in
from opperf.model import Metric, Record, Status
from opperf.plurals import pluralize
from opperf.results.figures import CaseFigures
from opperf.results.projection import Observation, Source, observations
from opperf.results.rates import DRAWN, rate_of

ELEMENTS = "elements"
"""Name of the number of elements of the largest tensor, as a size."""

MOST_LINES = 6
"""Most lines of a panel, and bars of a row: more cannot be told apart at a glance."""


def names_of(sources: Sequence[Source]) -> str:
    """Returns the names of the files, for a message."""
    return ", ".join(source.name for source in sources)


def measured(sources: Sequence[Source]) -> list[Observation]:
    """Returns the records with results. Raises `UsageError` if there is none."""
    found = [entry for entry in observations(sources) if entry.record.status is Status.OK]
    if not found:
        raise UsageError(f"{names_of(sources)}: no record has results, so there is nothing to plot")
    return found


def counted(number: int, why: str) -> list[str]:
    """Returns a note on the records that are not drawn; nothing without any."""
    return [f"{pluralize(number, 'record')} {why}"] if number else []


def without_results(sources: Sequence[Source]) -> list[str]:
    """Returns a note on the records without results; nothing without any."""
    missing = sum(entry.record.status is not Status.OK for entry in observations(sources))
    return counted(missing, "without results not drawn")


def columns_of(dimensions: Sequence[Mapping[str, str]], by: Sequence[str]) -> tuple[str, ...]:
    """Returns the dimensions of a panel's lines: those named, or differing, the last few."""
    columns = [
        name
        for name in dict.fromkeys(name for own in dimensions for name in own)
        if (not by or name in by) and len({own.get(name) for own in dimensions}) > 1
    ]
    while _most_lines(dimensions, columns) > MOST_LINES:
        columns = columns[1:]
    return tuple(columns)


def _most_lines(dimensions: Iterable[Mapping[str, str]], columns: Sequence[str]) -> int:
    panels: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for own in dimensions:
        title, line = split(own, columns)
        panels.setdefault(title, set()).add(line)
    return max(map(len, panels.values()))


def split(
    own: Mapping[str, str], columns: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the texts of a record's panel and of its line."""
    return (
        tuple(text for name, text in own.items() if name not in columns and text),
        tuple(own[name] for name in columns if own.get(name)),
    )


CUT_AT = 2.0
"""Times the median at which intervals are cut: longer ones would leave no room for the medians."""

Value = tuple[float, float | None, float | None]
"""A median and the bounds of its interval."""


def metrics_to_draw(
    names: Sequence[str], records: Sequence[Record], usual: Sequence[str]
) -> list[Metric]:
    """Returns these metrics, or the `usual` ones. Raises `UsageError` for a missing one."""
    present = {metric.name: metric for metric in metrics_in(records)}
    for name, column in DRAWN.items():
        if any(map(column.read, records)):
            present.setdefault(name, column.metric)
    for name in names:
        if name in present:
            continue
        if name in metrics_by_name() or name in DRAWN:
            raise UsageError(f"--metric {name}: no record has it; available: {', '.join(present)}")
        raise unknown("metric", name, present, "the file")
    wanted = names or [name for name in usual if name in present]
    return [present[name] for name in wanted or list(present)[:1]]


def value_of(metric: Metric, record: Record) -> Value | None:
    """Returns a record's median of a metric with its interval; None without a finite one."""
    column = rate_of(metric)
    if column is not None and column.rate is not None:
        return column.rate(record)
    found = CaseFigures(record).of(metric.name)
    if found is None or not found.is_finite:
        return None
    low, high = (None if metric.is_steady else found.interval) or (None, None)
    return found.median, low, high


ROUND = (1, 2, 5)
"""First digits of round numbers."""

LARGEST = 1e300
"""Axes are labelled at their ends alone beyond it, where a multiple may be no number any more."""

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
    """Returns about `most` of the sorted sizes, evenly spaced, with the first and the last."""
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
    if low < 1 / LARGEST or high > LARGEST:
        return [low, high]
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
    if not 1 / LARGEST < least < LARGEST:
        return [low, high]
    decade = 10.0 ** math.floor(math.log10(least))
    step = next(d * decade for d in (*ROUND, 10) if d * decade >= least * (1 - 1e-9))
    count = math.floor(high / step + 1e-9)
    return [number * step for number in range(math.ceil(low / step - 1e-9), count + 1)]
