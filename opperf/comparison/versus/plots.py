"""The image of a sweep of implementations: times, ratios and rates of each against the size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from opperf.comparison.versus.judging import ArmRow, Versus
from opperf.errors import UsageError
from opperf.model import PASSES, Metric, MetricKind
from opperf.results.plots.data import Line, Panel, Plot, Point, is_geometric
from opperf.results.units import Unit, choose_unit

RATIO = Metric("ratio", "", MetricKind.DERIVED, title="Ratio")

MOST_INTENSE = 10.0
"""Operations for each byte from which the rate of operations is drawn: fewer are bound by memory on
any machine."""


def plot_of(found: Versus) -> Plot:
    """Returns the panels of each operation, configuration and pass. Raises `UsageError` for a
    session without a sweep."""
    values: dict[str, set[int]] = {}
    for row in found.rows:
        for name, value in row.point.items():
            values.setdefault(name, set()).add(value)
    swept = max(values, key=lambda name: len(values[name]), default="")
    if len(values.get(swept, ())) < 2:
        raise UsageError("--plot: the session has no sweep of several sizes; add --sweep")
    groups: dict[tuple[str, ...], list[ArmRow]] = {}
    for row in found.rows:
        if swept in row.point and not row.is_wrong:
            groups.setdefault((row.operation, row.configuration, row.metric), []).append(row)
    panels = [
        panel
        for title, rows in groups.items()
        for panel in _panels(", ".join(filter(None, title)), rows, swept)
    ]
    sizes = tuple(map(float, sorted(values[swept])))
    return Plot(swept, sizes, is_geometric(sizes), tuple(panels))


def _panels(title: str, rows: Sequence[ArmRow], swept: str) -> Iterator[Panel]:
    figures = [row.time for row in rows]
    unit = choose_unit("ns", figures)
    time = Metric("time", "ns", MetricKind.WALL, title="Time")
    every = (
        (time, unit, _time),
        (RATIO, Unit(f"to {rows[0].base}", 1.0), _ratio),
        *([_rate(rows[0])] if rows[0].metric == PASSES[0] and rows[0].moved else []),
    )
    for metric, own, read in every:
        lines = []
        for arm in dict.fromkeys(row.arm for row in rows):
            points = [
                Point(float(row.point[swept]), *(value / own.size for value in found))
                for row in rows
                if row.arm == arm and (found := read(row))
            ]
            lines += [Line(arm, tuple(sorted(points)))] if points else []
        if lines:
            yield Panel(title, metric, own, tuple(lines))


def _time(row: ArmRow) -> tuple[float, ...]:
    if row.time is None:
        return ()
    value, width = row.time.value, row.time.half_width
    return (value,) if width is None else (value, value - width, value + width)


def _ratio(row: ArmRow) -> tuple[float, ...]:
    if row.ratio is None:
        return ()
    return (row.ratio,) if row.low is None or row.high is None else (row.ratio, row.low, row.high)


def _rate(row: ArmRow) -> tuple[Metric, Unit, Callable[[ArmRow], tuple[float, ...]]]:
    """Returns the rate of operations, or of bytes where those are what bounds the time."""
    of_flops = row.flops >= MOST_INTENSE * row.moved
    name, unit = ("flop_rate", "GFLOP/s") if of_flops else ("bandwidth", "GB/s")

    def read(own: ArmRow) -> tuple[float, ...]:
        work = own.flops if of_flops else own.moved
        # What a nanosecond has once, a second has 1e9 times.
        return (work / own.time.value,) if own.time is not None and work else ()

    metric = Metric(name, unit, MetricKind.DERIVED, lower_is_better=False)
    return metric, Unit(unit, 1.0), read


def write_plot(found: Versus, path: Path) -> None:
    """Writes the image. Raises `UsageError` as `plot_of`, and `OutputError`."""
    from opperf.extras import check_extras
    from opperf.results.output import replace
    from opperf.results.plots.images import WRITERS, image

    check_extras("a plot", "altair", "vl_convert")
    operations = dict.fromkeys(row.operation for row in found.rows)
    chart = image(plot_of(found), f"{', '.join(operations)}: {', '.join(found.arms)}", [])
    replace(path, WRITERS[path.suffix.lower()](chart))
