"""Verdicts of sessions in reports of a history.

Also parts of rows that several reports have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from opperf.formats.figures import number_or_null
from opperf.history.events import Event, Kind
from opperf.history.model import Project
from opperf.history.timelines import Timeline
from opperf.history.verdicts import SessionVerdict
from opperf.plurals import pluralize
from opperf.reports.model import (
    Cell,
    Column,
    Report,
    Section,
    Table,
    names,
    numbers,
    texts,
    words,
)
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


COMMAND = "history list"

COLUMNS = (
    *("session", "operator", "inputs", "metric", "environment", "a", "b", "verdict", "ratio"),
    *("low", "high", "blocks", "started", "all_threads", "id"),
)


def values_of(verdict: SessionVerdict) -> tuple[object, ...]:
    """Returns the values of a verdict, in the order of the columns."""
    key = verdict.key
    return (
        *(verdict.session, verdict.name, verdict.inputs, key.metric, key.environment),
        *(verdict.a.sha, verdict.b.sha, verdict.verdict.value, number_or_null(verdict.ratio)),
        *(number_or_null(verdict.low), number_or_null(verdict.high), verdict.blocks),
        *(verdict.started, verdict.all_threads, key.case),
    )


def data_of(verdict: SessionVerdict) -> dict[str, Any]:
    """Returns a verdict as JSON has it."""
    return dict(zip(COLUMNS, values_of(verdict), strict=True))


def latest_values(verdict: SessionVerdict | None) -> tuple[object, ...]:
    """Returns a verdict, its ratio and the bounds of that, as a row of what it is on has them."""
    if verdict is None:
        return ("", None, None, None)
    figures = map(number_or_null, (verdict.ratio, verdict.low, verdict.high))
    return (verdict.verdict.value, *figures)


def verdict_cell(verdict: SessionVerdict | None) -> Cell:
    """Returns a verdict with its ratio and interval in a few words; empty without one."""
    return Cell("") if verdict is None else Cell(verdict.text, verdict.tone)


def verdicts_section(
    title: str, verdicts: Sequence[SessionVerdict], with_names: bool = False
) -> Section:
    """Returns a table of verdicts, empty without one. Those of one series need no names."""
    if not verdicts:
        return Section()
    keys = {verdict.key.environment for verdict in verdicts}
    environments = [words("Environment", [verdict.key.environment for verdict in verdicts])]
    table = Table(
        (
            *(_names(verdicts) if with_names else ()),
            Column(
                "Verdict",
                [Cell(verdict.verdict.value, verdict.tone) for verdict in verdicts],
                is_whole=True,
            ),
            numbers("B/A", [verdict.ratio_text for verdict in verdicts]),
            numbers("90 % interval", [verdict.interval for verdict in verdicts]),
            numbers("Blocks", [str(verdict.blocks) for verdict in verdicts]),
            words("A", [verdict.a.short for verdict in verdicts], is_whole=True),
            words("B", [verdict.b.short for verdict in verdicts], is_whole=True),
            words("Measured", [date_text(verdict.started) for verdict in verdicts], is_whole=True),
            words("Session", [verdict.session for verdict in verdicts], is_whole=True),
            *(environments if len(keys) > 1 else ()),
            *([texts("Inputs", [verdict.inputs for verdict in verdicts])] if with_names else []),
        )
    )
    return Section(title=title, table=table)


def _names(verdicts: Sequence[SessionVerdict]) -> tuple[Column, ...]:
    return (
        names("Operator", [verdict.name for verdict in verdicts]),
        words("Metric", [verdict.key.metric for verdict in verdicts], is_whole=True),
    )


def verdicts_report(verdicts: Sequence[SessionVerdict], project: Project) -> Report:
    """Returns the verdicts of a project, the latest first."""
    title = f"Verdicts of {project.name}"
    section = verdicts_section("", verdicts, with_names=True)
    count = Section(prose=[f"{pluralize(len(verdicts), 'verdict')}."])
    return Report(
        command=COMMAND,
        title=title,
        sections=[section, count],
        data={"project": project.name, "verdicts": [data_of(verdict) for verdict in verdicts]},
        header=COLUMNS,
        rows=[values_of(verdict) for verdict in verdicts],
    )
