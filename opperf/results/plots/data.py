"""The data of a plot: panels of lines, whose points are medians with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from opperf.errors import UsageError, unknown
from opperf.instruments.times import FORWARD
from opperf.model import Metric, Record
from opperf.results import projection
from opperf.results.plots.dimensions import (
    CUT_AT,
    ELEMENTS,
    Value,
    columns_of,
    counted,
    measured,
    metrics_to_draw,
    names_of,
    split,
    value_of,
    without_results,
)
from opperf.results.rates import BANDWIDTH
from opperf.results.sweeps import variables_of
from opperf.results.units import Figure, Unit, choose_unit

ADVICE = (
    "measure several with `opperf run OPERATOR --sweep n=128..2048:x2 --shape data=16xn -f jsonl`"
)


class Point(NamedTuple):
    """A median, with the bounds of its 95 % confidence interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Line(NamedTuple):
    """The points of one line, by size."""

    name: str
    points: tuple[Point, ...]

    @property
    def is_function(self) -> bool:
        """Whether it has one point for each size, so that the points can be joined."""
        return len({point.x for point in self.points}) == len(self.points)


class Panel(NamedTuple):
    """One chart: a metric of lines that share the dimensions in the title."""

    title: str
    metric: Metric
    unit: Unit
    lines: tuple[Line, ...]

    @property
    def end(self) -> float:
        return CUT_AT * max(point.y for line in self.lines for point in line.points)

    @property
    def is_log(self) -> bool:
        """Whether its values suit a logarithmic axis; a rate is read against zero."""
        return self.metric.lower_is_better and all(
            point.y > 0 and (point.low is None or point.low > 0)
            for line in self.lines
            for point in line.points
        )


class Plot(NamedTuple):
    """The panels of one image, which share their sizes."""

    x_title: str
    sizes: tuple[float, ...]
    x_is_log: bool
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()

    @property
    def has_intervals(self) -> bool:
        return any(
            point.low is not None
            for panel in self.panels
            for line in panel.lines
            for point in line.points
        )


def make_plot(
    sources: Sequence[projection.Source],
    metrics: Sequence[str] = (),
    x: str | None = None,
    by: Sequence[str] = (),
) -> Plot:
    """Returns the plot of records. Raises `UsageError` for unknown names and nothing to draw."""
    found = measured(sources)
    records = [entry.record for entry in found]
    x = x or _default_size(records)
    read = _reader(x, records)
    shown = metrics_to_draw(metrics, records, (FORWARD.name, BANDWIDTH.metric.name))
    variables = variables_of(record.case for record in records)
    dimensions = projection.describe(found, by, (*variables, x) if x == ELEMENTS else (x,))
    sized = [
        (record, size, own)
        for record, own in zip(records, dimensions, strict=True)
        if (size := read(record)) is not None
    ]
    sizes = tuple(sorted({size for _, size, _ in sized}))
    if len(sizes) < 2:
        raise UsageError(
            f"{names_of(sources)}: {x} has one value, {sizes[0]:g}, so there is nothing to plot "
            f"against; {ADVICE}"
        )
    columns = columns_of([own for _, _, own in sized], by)
    panels = [panel for metric in shown for panel in _panels(metric, sized, columns)]
    # The metrics of the same lines are beside each other.
    titles = list(dict.fromkeys(panel.title for panel in panels))
    panels.sort(key=lambda panel: titles.index(panel.title))
    notes = [
        *without_results(sources),
        *counted(len(records) - len(sized), f"without {x} not drawn"),
        *filter(None, [_grouped_away(found, dimensions, map(read, records), by)]),
    ]
    title = "elements of the largest tensor" if x == ELEMENTS else x
    return Plot(title, sizes, is_geometric(sizes), tuple(panels), tuple(notes))


def _grouped_away(
    found: Sequence[projection.Observation],
    dimensions: Sequence[Mapping[str, str]],
    sizes: Iterable[float | None],
    by: Sequence[str],
) -> str:
    """Returns a warning about points of a line that have one size and are of different inputs."""
    keys = [(size, *own.values()) for own, size in zip(dimensions, sizes, strict=True)]
    return projection.grouped_away(
        found, keys, [name for name in (projection.OVERLOAD, projection.INPUTS) if name not in by]
    )


def has_sizes(sources: Sequence[projection.Source]) -> bool:
    """Whether a swept variable has several values, against which lines can be drawn."""
    records = [entry.record for entry in measured(sources)]
    variables = variables_of(record.case for record in records)
    return any(len(_values(name, records)) > 1 for name in variables)


def _values(name: str, records: Sequence[Record]) -> set[float | None]:
    return set(map(_variable(name), records)) - {None}


def _default_size(records: Sequence[Record]) -> str:
    variables = variables_of(record.case for record in records)
    return max(variables, key=lambda name: len(_values(name, records)), default=ELEMENTS)


def _elements_of(record: Record) -> float | None:
    return max((float(spec.size) for _, spec in record.case.tensors()), default=None)


def _variable(name: str) -> Callable[[Record], float | None]:
    return lambda record: record.case.point.get(name)


def _setting(name: str) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        value = getattr(record.case.settings, name)
        return float(value) if isinstance(value, int) else None

    return read


def _reader(x: str, records: Sequence[Record]) -> Callable[[Record], float | None]:
    readers = {name: _variable(name) for name in variables_of(record.case for record in records)}
    readers |= {ELEMENTS: _elements_of, "threads": _setting("threads")}
    if x not in readers:
        raise unknown("size for --x", x, (*readers, projection.OPERATOR), "the file")
    if all(readers[x](record) is None for record in records):
        raise UsageError(f"--x {x}: no record has a value of {x}; use one of {', '.join(readers)}")
    return readers[x]


def _panels(
    metric: Metric,
    records: Iterable[tuple[Record, float, Mapping[str, str]]],
    columns: Sequence[str],
) -> list[Panel]:
    found: dict[tuple[str, ...], dict[tuple[str, ...], list[tuple[float, Value]]]] = {}
    for record, size, own in records:
        value = value_of(metric, record)
        if value is not None:
            title, line = split(own, columns)
            found.setdefault(title, {}).setdefault(line, []).append((size, value))
    values = [v for lines in found.values() for points in lines.values() for _, v in points]
    unit = choose_unit(metric.unit, [Figure(median) for median, _, _ in values])
    return [
        Panel(
            ", ".join(title),
            metric,
            unit,
            tuple(Line(", ".join(name), _points(points, unit)) for name, points in lines.items()),
        )
        for title, lines in found.items()
    ]


def _points(values: Iterable[tuple[float, Value]], unit: Unit) -> tuple[Point, ...]:
    points = (_point(size, value, unit) for size, value in values)
    return tuple(sorted(points, key=lambda point: (point.x, point.y)))


def _point(size: float, value: Value, unit: Unit) -> Point:
    median, low, high = value
    if low is None or high is None:
        return Point(size, median / unit.size)
    return Point(size, median / unit.size, low / unit.size, high / unit.size)


def is_geometric(sizes: Sequence[float]) -> bool:
    """Whether sorted sizes grow by factors: gaps of their logarithms differ less than theirs."""
    if sizes[0] <= 0:
        return False
    return _unevenness([math.log(size) for size in sizes]) < _unevenness(sizes)


def _unevenness(sizes: Sequence[float]) -> float:
    gaps = [after - before for before, after in zip(sizes, sizes[1:], strict=False)]
    return max(gaps) / min(gaps)
