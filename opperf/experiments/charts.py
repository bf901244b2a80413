"""Charts of speed-ups: over time, by workload, and by model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from opperf.experiments.speedups import interval
from opperf.experiments.tables import (
    SpeedupComparison,
    grouped,
    histogram_table,
    latest_of,
    time_text,
)
from opperf.formats.model_records import Estimate, title_of
from opperf.results.plots.images import INK, banded_lines, interval_bars, series_channels, styled

PIXELS = 100
"""Pixels of an inch, as Matplotlib has by default."""

WIDTH, HEIGHT = 9.0, 6.75
"""Inches of a figure: the default of PyTorch/XLA's benchmarks."""

BAR, HEAD = 16, 130
"""Pixels of a bar with its value, and of a figure's title and axis."""

INTERVALS = "Bands: 95 % intervals, where there are repeats enough"

DEVIATIONS = "Thin lines: standard deviations"

SPREAD = "Bands: 5th to 95th percentile over models; lines: medians"

INTERVAL = {"strokeWidth": 7, "opacity": 0.45}
"""An interval on a bar, below the line of the deviation."""

ONE = "#999"
"""Colour of the line at 1, which is as fast as the baseline."""


@dataclass(frozen=True)
class ChartShape:
    """The size of a figure in inches, and a line for its title."""

    width: float = WIDTH
    height: float | None = None
    """None for the usual one, or as high as many bars need."""
    title: str = ""

    def sized(self, chart: Any, heading: str, legend: Sequence[str], bars: int = 0) -> Any:
        """Returns a chart of this size in all, with its title."""
        usual = max(HEIGHT * PIXELS, bars * BAR + HEAD)
        height = usual if self.height is None else self.height * PIXELS
        sized = chart.properties(
            width=self.width * PIXELS,
            height=height,
            autosize=alt.AutoSizeParams(type="fit", contains="padding"),
        )
        return styled(sized, heading, [*filter(None, [self.title]), *legend])


def _row(one: Estimate, backend: str, **more: Any) -> dict[str, Any]:
    """Returns the data of a point: its value, band and deviation."""
    found = interval(one)
    return {
        "backend": title_of(backend),
        "value": one.value,
        "low": None if found is None else found[0],
        "high": None if found is None else found[1],
        "below": one.value - one.deviation,
        "above": one.value + one.deviation,
        "end": max(one.value + one.deviation, one.value if found is None else found[1]),
        "interval": "" if found is None else f"{found[0]:.4g} to {found[1]:.4g}",
        **more,
    }


def _channels(backends: Sequence[str]) -> dict[str, Any]:
    """Returns the channels and marks of backends."""
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1)
    return series_channels("backend", list(map(title_of, backends)), legend)


def _one(axis: str) -> Any:
    """Returns the line at 1."""
    rule = alt.Chart(alt.Data(values=[{"one": 1}])).mark_rule(color=ONE, strokeDash=[4, 3])
    return rule.encode(**{axis: alt.X("one:Q") if axis == "x" else alt.Y("one:Q")})


SPEEDUP_AXIS = "Speed-up"


def _points(rows: list[dict[str, Any]], x: Any, channels: Mapping[str, Any], names: str) -> Any:
    """Returns lines through points, with bands and deviations; `names` is a field to show."""
    y = alt.Y("value:Q", title=SPEEDUP_AXIS, scale=alt.Scale(zero=False, nice=True))
    deviations = alt.Chart(alt.Data(values=rows)).mark_rule(strokeWidth=1)
    below = alt.Y("below:Q", title=SPEEDUP_AXIS)
    return alt.layer(
        _one("y"),
        deviations.encode(x=x, y=below, y2="above:Q", color=channels["color"]),
        *banded_lines(rows, x, y, channels, ("backend", names, "value", "interval")),
    )


MOST_TICKS = 9
"""Most dates and workloads that an axis is labelled with."""


def _thinned(values: Sequence[float]) -> list[float]:
    """Returns some of the values, which have room on an axis, and the first of them."""
    return list(values[:: -(-len(values) // MOST_TICKS)])


def _dates(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Returns the axis of the times of points, which are days unless several are of one day."""
    times = sorted({row["time"] for row in rows})
    days = {time // (24 * 3600 * MS) for time in times}
    form = "%Y-%m-%d" if len(days) == len(times) else "%m-%d %H:%M"
    # Of numbers, Vega-Lite would make an expression that the interpreter of a page reads otherwise.
    values = alt.ExprRef(f"[{', '.join(f'toDate({time})' for time in _thinned(times))}]")
    return alt.X(
        "time:T",
        title="Date (UTC)",
        scale=alt.Scale(type="utc", padding=40, nice=False),
        axis=alt.Axis(format=form, values=values, labelOverlap=True),
    )


MS = 1000
"""A chart's times are in milliseconds."""


def speedup_chart(compared: SpeedupComparison, figure: ChartShape) -> Any:
    """Returns the geometric means over time."""
    rows = [
        _row(own[backend].geomean, backend, time=at * MS, date=time_text(at))
        for backend in compared.backends
        for at, own in compared.found.items()
        if backend in own
    ]
    chart = _points(rows, _dates(rows), _channels(compared.backends), "date")
    heading = f"{compared.title}, geometric means over models"
    return figure.sized(chart, heading, [f"{DEVIATIONS}. {INTERVALS}"])


def latest_chart(compared: SpeedupComparison, figure: ChartShape) -> Any:
    """Returns the last speed-ups of each backend, in its own order, with the models' names."""
    columns = {backend: latest_of(compared, backend) for backend in compared.backends}
    rows = [
        _row(one, backend, place=place, model=model)
        for backend, column in columns.items()
        for place, (one, model) in enumerate(column)
    ]
    most = max(map(len, columns.values()))
    x = alt.X(
        "place:Q",
        title="Workload, sorted for each backend",
        scale=alt.Scale(domain=[0, max(1, most - 1)], padding=60, nice=False),
        axis=alt.Axis(values=_thinned(range(most)), format="d"),
    )
    channels = _channels(compared.backends)
    points = _points(rows, x, channels, "model")
    step = -(-len(rows) // MOST_NAMES)
    labels = []
    for number, backend in enumerate(compared.backends):
        # Names of lines that are close to each other stand above and below.
        side = {"align": "left", "dx": 6, "dy": -5} if number % 2 == 0 else LOWER
        own = [row for row in rows if row["backend"] == title_of(backend)][::-step]
        labels.append(
            alt.Chart(alt.Data(values=own))
            .mark_text(angle=315, fontSize=10, opacity=0.8, **side)
            .encode(x=x, y="value:Q", text="model:N", color=channels["color"])
        )
    legend = [f"{DEVIATIONS}. {INTERVALS}"]
    if step > 1:
        legend.append(f"One model in {step} is named; a page (html) names each on hover")
    return figure.sized(alt.layer(points, *labels), compared.title, legend)


LOWER: dict[str, Any] = {"align": "right", "dx": -6, "dy": 7}

MOST_NAMES = 24
"""Most names of models in a chart of workloads; more would cover each other."""


def grouped_chart(compared: SpeedupComparison, figure: ChartShape) -> Any:
    """Returns bars of each model's speed-ups, and of their means."""
    models = grouped(compared)
    rows = [
        _row(one, backend, model=model, text=f"{one.value:.2f}")
        for model, values in models.items()
        for backend, one in zip(compared.backends, values, strict=True)
        if one is not None
    ]
    titles = [title_of(backend) for backend in compared.backends]
    color = _channels(compared.backends)["color"]
    y = alt.Y("model:N", sort=None, title=None, scale=alt.Scale(domain=list(models)))
    offset = alt.YOffset("backend:N", scale=alt.Scale(domain=titles))
    x = alt.X("value:Q", title=SPEEDUP_AXIS, scale=alt.Scale(zero=True))
    places = {"y": y, "yOffset": offset}
    fields = ("backend", "model", "value", "interval")
    bars, intervals, texts = interval_bars(rows, places, x, color, fields, INTERVAL)
    deviations = alt.Chart(alt.Data(values=rows)).mark_rule(strokeWidth=1.3, color=INK)
    below = alt.X("below:Q", title=SPEEDUP_AXIS)
    chart = alt.layer(
        bars, intervals, deviations.encode(x=below, x2="above:Q", **places), texts, _one("x")
    )
    legend = [f"{DEVIATIONS}. {INTERVALS}"]
    return figure.sized(chart, compared.title, legend, bars=len(rows))


def histogram_chart(compared: SpeedupComparison, figure: ChartShape) -> Any:
    """Returns the percentiles over models, over time."""
    # Those that the table shows: where the first backend has any.
    shown = {row[0] for row in histogram_table(compared).rows}
    rows = [
        {
            "backend": title_of(backend),
            "time": at * MS,
            "date": time_text(at),
            **{f"p{percent}": value for percent, value in own[backend].percentiles.items()},
        }
        for backend in compared.backends
        for at, own in compared.found.items()
        if backend in own and time_text(at) in shown
    ]
    channels = _channels(compared.backends)
    y = alt.Y("p50:Q", title=SPEEDUP_AXIS, scale=alt.Scale(zero=False))
    fields = ("backend", "date", "p95", "p50", "p5")
    lines = banded_lines(rows, _dates(rows), y, channels, fields, ("p5", "p95"))
    chart = alt.layer(_one("y"), *lines)
    return figure.sized(chart, f"{compared.title}, percentiles over models", [SPREAD])


CHARTS: dict[str, Callable[[SpeedupComparison, ChartShape], Any]] = {
    "speedup": speedup_chart,
    "latest": latest_chart,
    "latest_grouped": grouped_chart,
    "histogram": histogram_chart,
}
"""By the report's name."""
