"""Timelines as charts: a panel for each case and metric, in the order of the commits."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from opperf.history.events import Event, Kind, State
from opperf.history.reports.showing import change_text, date_text
from opperf.history.timelines import History, Timeline
from opperf.metrics import metric_named
from opperf.results.plots.data import Line, Panel, Plot, Point
from opperf.results.plots.images import banded_lines, series_channels, styled
from opperf.results.units import Figure as Value
from opperf.results.units import Unit, choose_unit

X_TITLE = "Run, in the order of the commits"

WIDTH, HEIGHT = 640, 170
"""Pixels of a panel: hundred runs are apart, and four panels fit a screen."""

TICKS = 7
"""Labels of the axis: dates of ten characters, which do not overlap in `WIDTH`."""

BETTER, WORSE, CLOSED = "#009E73", "#D55E00", "#888888"
"""Colours of changes: of the palette, and of those that are closed."""


def panels_of(history: History) -> dict[tuple[str, str], list[Timeline]]:
    """Returns the timelines by case and metric, those of several environments together."""
    found: dict[tuple[str, str], list[Timeline]] = {}
    for line in history.timelines:
        found.setdefault((line.key.case, line.key.metric), []).append(line)
    return found


def text_plot(history: History, environments: Mapping[str, str]) -> Plot:
    """Returns the timelines as a plot of lines, for a terminal."""
    panels = []
    for (_, name), lines in panels_of(history).items():
        unit = _unit(lines)
        points = tuple(
            Line(environments.get(line.key.environment, line.key.environment), _points(line, unit))
            for line in lines
        )
        panels.append(Panel(lines[0].title, metric_named(name, unit.name), unit, points))
    places = {point.x for panel in panels for line in panel.lines for point in line.points}
    return Plot(X_TITLE, tuple(sorted(places)), False, tuple(panels))


def _unit(lines: Sequence[Timeline]) -> Unit:
    medians = (Value(value) for line in lines for value in line.median.tolist())
    return choose_unit(lines[0].facts.unit, medians)


def _points(line: Timeline, unit: Unit) -> tuple[Point, ...]:
    columns = (line.run, line.median, line.low, line.high)
    return tuple(
        Point(
            float(place + 1),
            median / unit.size,
            None if math.isnan(low) else low / unit.size,
            None if math.isnan(high) else high / unit.size,
        )
        for place, median, low, high in zip(*(column.tolist() for column in columns), strict=True)
    )


def chart(
    history: History, events: Iterable[Event], environments: Mapping[str, str], title: str
) -> Any:
    """Returns the timelines with their changes as a chart of Altair."""
    import altair as alt

    changes = list(events)
    names = list(dict.fromkeys(environments[line.key.environment] for line in history.timelines))
    panels = [
        _panel(history, lines, changes, environments, names)
        for lines in panels_of(history).values()
    ]
    legend = "Bands: 95 % intervals of the medians; lines down: changes, closed ones grey"
    return styled(alt.vconcat(*panels, spacing=20), title, [legend])


def _panel(
    history: History,
    lines: Sequence[Timeline],
    events: Sequence[Event],
    environments: Mapping[str, str],
    names: Sequence[str],
) -> Any:
    import altair as alt

    unit = _unit(lines)
    rows = [row for line in lines for row in _rows(history, line, unit, environments)]
    legend = alt.Legend(title=None, orient="top", labelLimit=0) if len(names) > 1 else None
    channels = series_channels("environment", names, legend)
    x = alt.X(
        "place:Q",
        title=X_TITLE,
        axis=_axis(history),
        scale=alt.Scale(domain=[0.5, len(history.runs) + 0.5], nice=False),
    )
    title = f"{lines[0].key.metric} ({unit.name})"
    y = alt.Y("median:Q", title=title, scale=alt.Scale(zero=False))
    shown = ("commit", "date", "subject", "environment", "median", "interval")
    layers = banded_lines(rows, x, y, channels, shown, size=28)
    marks = list(_marks(history, lines, events))
    if marks:
        data = alt.Chart(alt.Data(values=marks))
        paint = alt.Color("tone:N", scale=None)
        layers += [
            data.mark_rule(strokeWidth=1.5, strokeDash=[4, 3]).encode(x="place:Q", color=paint),
            data.mark_text(align="left", dx=4, dy=6, baseline="top", fontSize=11).encode(
                x="place:Q", y=alt.value(0), text="text:N", color=paint
            ),
        ]
    return alt.layer(*layers).properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.TitleParams(lines[0].title, frame="group", fontSize=13, anchor="start"),
    )


def _axis(history: History) -> Any:
    import altair as alt

    count = len(history.runs)
    places = sorted({round(1 + step * (count - 1) / max(TICKS - 1, 1)) for step in range(TICKS)})
    labels = {str(place): date_text(history.runs[place - 1].time) for place in places}
    return alt.Axis(values=places, labelExpr=f"({json.dumps(labels)})[datum.value]", grid=False)


def _rows(
    history: History, line: Timeline, unit: Unit, environments: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    for point, number in zip(_points(line, unit), line.run.tolist(), strict=True):
        run = history.runs[number]
        has_interval = point.low is not None and point.high is not None
        yield {
            "place": point.x,
            "median": float(f"{point.y:.5g}"),
            "low": point.y if point.low is None else point.low,
            "high": point.y if point.high is None else point.high,
            "interval": f"{point.low:.4g} to {point.high:.4g}" if has_interval else "",
            "environment": environments[line.key.environment],
            "commit": run.commit.short,
            "date": date_text(run.time),
            "subject": run.commit.subject,
        }


def _marks(
    history: History, lines: Sequence[Timeline], events: Sequence[Event]
) -> Iterator[dict[str, Any]]:
    """Yields a row for each change of these series, and of their machines."""
    place_of = {run.commit.sha: place for place, run in reversed(list(enumerate(history.runs, 1)))}
    for event in events:
        line = next((line for line in lines if line.id == event.series), None)
        is_machine = event.kind is Kind.MACHINE and event.environment in {
            line.key.environment for line in lines
        }
        if event.first_bad not in place_of or not (line or is_machine):
            continue
        if line is None:
            tone, text = CLOSED, "machine"
        else:
            is_loss = event.is_loss(line.facts.lower_is_better)
            tone = CLOSED if not event.is_open else WORSE if is_loss else BETTER
            text = change_text(event)
        if event.state is not State.NEW:
            text = f"{text}, {event.state.value}"
        # Between the two runs.
        yield {"place": place_of[event.first_bad] - 0.5, "tone": tone, "text": text}
