"""Parts of rows that several reports have."""

from __future__ import annotations

import math
from datetime import datetime, timezone

from opperf.history.events import Event, Kind
from opperf.history.timelines import Timeline
from opperf.repository import Commit
from opperf.results.units import Figure, choose_unit, format_figure


def date_text(seconds: float) -> str:
    """Returns a time as its date in UTC; empty if it is unknown."""
    if math.isnan(seconds):
        return ""
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()


def commit_date(commit: Commit, started: float) -> str:
    """Returns the date of a commit, else that of its run."""
    return date_text(started if math.isnan(commit.time) else commit.time)


def figure_at(timeline: Timeline, place: int) -> Figure:
    """Returns a figure of a timeline, with its half-width if that is known."""
    median, low, high = (
        float(column[place]) for column in (timeline.median, timeline.low, timeline.high)
    )
    width = max(high - median, median - low)
    return Figure(median, width if math.isfinite(width) else None)


def figure_with_unit(figure: Figure, unit: str) -> str:
    """Returns a figure in the unit that suits it, with that."""
    chosen = choose_unit(unit, [figure])
    text = format_figure(figure, chosen)
    return " ".join(filter(None, (text.value, chosen.name, text.share)))


def change_text(event: Event) -> str:
    """Returns what an event is, in a few words: `+5.0 %`; of a series without figures `fails`."""
    if event.kind is Kind.STOPPED:
        return event.method
    return percent(event.ratio)


def percent(ratio: float) -> str:
    """Returns a ratio as a change: `+5.0 %`."""
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else ""
