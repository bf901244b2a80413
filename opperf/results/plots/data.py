"""The data of a plot: panels of lines, whose points are medians with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from opperf.errors import UsageError, unknown
from opperf.metrics import FORWARD, metrics_by_name, metrics_in
from opperf.model import DECLARED, Metric, Record, Status
from opperf.results.bandwidth import BANDWIDTH, bandwidth_of
from opperf.results.figures import Unit
from opperf.results.text import pluralize
from opperf.results.units import Figure, choose_unit
from opperf.results.varied import (
    CONFIGURATION,
    OPERATOR,
    describe,
    variables_of,
)

ELEMENTS = "elements"
"""Name of the number of elements of the largest tensor, as a size."""

FILE = "file"
"""Dimension of the file that a record is from."""

MOST_LINES = 8
"""Most lines of one panel: the palette that colour-blind people can distinguish has as many
colours."""

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
    def is_log(self) -> bool:
        """Whether its values suit a logarithmic axis; a rate is read against zero."""
        return self.metric.lower_is_better and all(
            point.y > 0 and (point.low is None or point.low > 0)
            for line in self.lines
            for point in line.points
        )


class Plot(NamedTuple):
    """The panels of one picture, which share their sizes."""

    x_title: str
    sizes: tuple[float, ...]
    """Distinct sizes, sorted."""
    x_is_log: bool
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    """Records that are not drawn, a sentence for each reason."""

    @property
    def has_intervals(self) -> bool:
        """Whether any point has an interval."""
        return any(
            point.low is not None
            for panel in self.panels
            for line in panel.lines
            for point in line.points
        )


class Source(NamedTuple):
    """The records of a file."""

    name: str
    records: Sequence[Record]


Value = tuple[float, float | None, float | None]
"""A median and the bounds of its interval."""

Dimensions = dict[str, str]
"""What distinguishes a record besides its size, by dimension."""


def make_plot(
    sources: Sequence[Source],
    metrics: Sequence[str] = (),
    x: str | None = None,
    by: Sequence[str] = (),
) -> Plot:
    """Returns the plot of some files' records.

    Raises `UsageError` for an unknown metric, size or dimension, and if there is nothing to draw.
    """
    found = [record for source in sources for record in source.records]
    records = [record for record in found if record.status is Status.OK]
    if not records:
        raise UsageError(f"{_names(sources)}: no record has results, so there is nothing to plot")
    x = x or _default_size(sources, records)
    read = _reader(x, records)
    shown = _metrics(metrics, records)
    dimensions = _dimensions(sources, records, x)
    sized = [
        (record, size, own)
        for record, own in zip(records, dimensions, strict=True)
        if (size := read(record)) is not None
    ]
    sizes = tuple(sorted({size for _, size, _ in sized}))
    if len(sizes) < 2:
        raise UsageError(
            f"{_names(sources)}: {x} has one value, {sizes[0]:g}, so there is nothing to plot "
            f"against; {ADVICE}"
        )
    columns = _columns([own for _, _, own in sized], by)
    panels = [panel for metric in shown for panel in _panels(metric, sized, columns)]
    # The metrics of the same lines are beside each other.
    titles = list(dict.fromkeys(panel.title for panel in panels))
    panels.sort(key=lambda panel: titles.index(panel.title))
    notes = [
        f"{pluralize(number, 'record')} {why}"
        for number, why in (
            (len(found) - len(records), "without results not drawn"),
            (len(records) - len(sized), f"without {x} not drawn"),
        )
        if number
    ]
    return Plot(_x_title(x), sizes, is_geometric(sizes), tuple(panels), tuple(notes))


def _names(sources: Sequence[Source]) -> str:
    return ", ".join(source.name for source in sources)


def _default_size(sources: Sequence[Source], records: Sequence[Record]) -> str:
    """Returns the swept variable with the most values; without a sweep the elements, if operators
    have several sizes."""
    variables = variables_of(record.case for record in records)
    if variables:
        return max(variables, key=lambda name: len(set(map(_variable(name), records))))
    sizes: dict[str, set[float | None]] = {}
    for record in records:
        sizes.setdefault(record.case.label, set()).add(elements_of(record))
    if all(len(own) == 1 for own in sizes.values()):
        raise UsageError(
            f"{_names(sources)}: every operator has one size, so there is nothing to plot against; "
            f"{ADVICE}"
        )
    return ELEMENTS


def elements_of(record: Record) -> float | None:
    """Returns the number of elements of a case's largest tensor; None without one."""
    return max((float(spec.size) for _, spec in record.case.tensors()), default=None)


def _variable(name: str) -> Callable[[Record], float | None]:
    return lambda record: record.case.point.get(name)


def _setting(name: str) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        value = getattr(record.case.settings, name)
        return float(value) if isinstance(value, int) else None

    return read


def _reader(x: str, records: Sequence[Record]) -> Callable[[Record], float | None]:
    """Returns the function that reads a size. Raises `UsageError` for an unknown one."""
    readers = {name: _variable(name) for name in variables_of(record.case for record in records)}
    readers |= {ELEMENTS: elements_of, "threads": _setting("threads")}
    if x not in readers:
        raise unknown("size for --x", x, readers, "the file")
    if all(readers[x](record) is None for record in records):
        raise UsageError(f"--x {x}: no record has a value of {x}; use one of {', '.join(readers)}")
    return readers[x]


def _x_title(x: str) -> str:
    return "elements of the largest tensor" if x == ELEMENTS else x


def _metrics(names: Sequence[str], records: Sequence[Record]) -> list[Metric]:
    """Returns the metrics to draw: by default the forward time, and the rate at which bytes are
    moved where they are known. Raises `UsageError` for one that is unknown or that no record
    has."""
    present = {metric.name: metric for metric in metrics_in(records)}
    if any(bandwidth_of(record) for record in records):
        present[BANDWIDTH.name] = BANDWIDTH
    for name in names:
        if name in present:
            continue
        if name in metrics_by_name() or name == BANDWIDTH.name:
            raise UsageError(f"--metric {name}: no record has it; available: {', '.join(present)}")
        raise unknown("metric", name, present, "the file")
    wanted = names or [name for name in (FORWARD.name, BANDWIDTH.name) if name in present]
    return [present[name] for name in wanted or list(present)[:1]]


def _dimensions(sources: Sequence[Source], records: Sequence[Record], x: str) -> list[Dimensions]:
    """Returns what distinguishes each record besides the size."""
    files = [
        source.name for source in sources for record in source.records if record.status is Status.OK
    ]
    variables = variables_of(record.case for record in records) if x != ELEMENTS else ()
    found = []
    for record, file, own in zip(records, files, describe(records), strict=True):
        others = {name: f"{name}={value}" for name, value in record.case.point.items()}
        own |= {name: others.get(name, "") for name in variables}
        own.pop(x, None)
        found.append(own | ({FILE: file} if len(sources) > 1 else {}))
    return found


def _columns(dimensions: Sequence[Dimensions], by: Sequence[str]) -> tuple[str, ...]:
    """Returns the dimensions that distinguish the lines of a panel: those that the user names, or
    all with more than one value, without the first ones if the lines were too many.

    Raises `UsageError` for an unknown dimension.
    """
    known = dict.fromkeys(name for own in dimensions for name in own)
    possible = dict.fromkeys((*known, OPERATOR, CONFIGURATION, FILE, *_settings()))
    for name in by:
        if name not in possible:
            raise unknown("dimension for --by", name, possible)
    differing = [name for name in known if len({own.get(name) for own in dimensions}) > 1]
    if by:
        return tuple(name for name in differing if name in by)
    columns = differing
    while _most_lines(dimensions, columns) > MOST_LINES:
        columns = columns[1:]
    return tuple(columns)


def _settings() -> list[str]:
    return [name for name, setting in DECLARED.items() if setting.identity]


def _most_lines(dimensions: Iterable[Dimensions], columns: Sequence[str]) -> int:
    """Returns the most lines of a panel, where panels have the other dimensions."""
    panels: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for own in dimensions:
        title, line = _split(own, columns)
        panels.setdefault(title, set()).add(line)
    return max(map(len, panels.values()))


def _split(own: Dimensions, columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the texts of a record's panel and of its line."""
    return (
        tuple(text for name, text in own.items() if name not in columns and text),
        tuple(own[name] for name in columns if own.get(name)),
    )


def _panels(
    metric: Metric,
    records: Iterable[tuple[Record, float, Dimensions]],
    columns: Sequence[str],
) -> list[Panel]:
    """Returns the panels of one metric, all in one unit. Raises `UsageError` for too many lines."""
    found: dict[tuple[str, ...], dict[tuple[str, ...], list[tuple[float, Value]]]] = {}
    for record, size, own in records:
        value = value_of(metric, record)
        if value is not None:
            title, line = _split(own, columns)
            found.setdefault(title, {}).setdefault(line, []).append((size, value))
    for lines in found.values():
        if len(lines) > MOST_LINES:
            raise UsageError(
                f"{len(lines)} lines are too many for one chart, which has at most {MOST_LINES}; "
                f"name fewer dimensions with --by, of {', '.join(columns)}"
            )
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
    """Returns the points by size, those of one size by value."""
    points = (_point(size, value, unit) for size, value in values)
    return tuple(sorted(points, key=lambda point: (point.x, point.y)))


def _point(size: float, value: Value, unit: Unit) -> Point:
    median, low, high = value
    if low is None or high is None:
        return Point(size, median / unit.size)
    return Point(size, median / unit.size, low / unit.size, high / unit.size)


def value_of(metric: Metric, record: Record) -> Value | None:
    """Returns a record's median of a metric with its interval; None without a finite one."""
    if metric is BANDWIDTH:
        rate = bandwidth_of(record)
        return None if rate is None else (rate.value, rate.low, rate.high)
    summary = record.summaries.get(metric.name)
    if summary is None or not math.isfinite(summary.median):
        return None
    if summary.half_width is None or metric.is_steady:
        return summary.median, None, None
    return summary.median, summary.ci_low, summary.ci_high


def is_geometric(sizes: Sequence[float]) -> bool:
    """Whether sorted sizes grow by factors rather than by steps: the gaps between their logarithms
    differ less than those between themselves."""
    if sizes[0] <= 0:
        return False
    return _unevenness([math.log(size) for size in sizes]) < _unevenness(sizes)


def _unevenness(sizes: Sequence[float]) -> float:
    gaps = [after - before for before, after in zip(sizes, sizes[1:], strict=False)]
    return max(gaps) / min(gaps)
