"""Series run by run, as a report; and what other reports have of them: dates, changes, figures and
verdicts in a few words."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, NamedTuple, TypeVar

from opperf.comparison.compared import interval_text, ratio_text
from opperf.formats.figures import number_or_null
from opperf.history.events import Event, Kind, State, StateOf
from opperf.history.model import Project, StoredEnvironment, StoredFailure, StoredRun
from opperf.history.timelines import History, Timeline
from opperf.history.verdicts import NOTHING, Evidence, SessionVerdict
from opperf.plurals import pluralize
from opperf.reports.fields import (
    LABEL,
    NAME,
    NUMBER,
    TEXT,
    WORD,
    Field,
    figure,
    objects_of,
    rows_of,
    table_of,
)
from opperf.reports.model import Cell, Report, Section, Tone
from opperf.repository import sha_text
from opperf.results.units import Figure, choose_unit, format_figure

Item = TypeVar("Item")


def date_text(seconds: float) -> str:
    """Returns a time as its date in UTC; empty if it is unknown."""
    if math.isnan(seconds):
        return ""
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()


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


def percent(ratio: float) -> str:
    """Returns a ratio as a change: `+5.0 %`."""
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else ""


def change_text(event: Event) -> str:
    """Returns what an event is, in a few words: `+5.0 %`; of a series without figures `fails`."""
    return event.method if event.kind is Kind.STOPPED else percent(event.ratio)


def stop_text(event: Event) -> str:
    """Returns since when a series has no figures: `fails since 0123456789`."""
    return f"{event.method} since {sha_text(event.first_bad)}"


def commit_field(key: str, title: str, read: Callable[[Any], str]) -> Field[Any]:
    """Returns the field of a commit's id, of which tables have the beginning."""
    return Field(key, title, LABEL, read, lambda row: sha_text(read(row)))


DIRTY: Field[StoredRun] = Field(
    "dirty", "Tree", WORD, lambda run: run.is_dirty, lambda run: "dirty" if run.is_dirty else ""
)
"""Whether a run is of a tree with uncommitted changes."""


def untitled(fields: Iterable[Field[Item]], keys: Collection[str]) -> list[Field[Item]]:
    """Returns fields, of which tables omit some."""
    return [replace(field, title=None) if field.key in keys else field for field in fields]


def alike(keys: Iterable[str], key: str) -> set[str]:
    """Returns a field that tables omit as all rows have it alike; nothing where they differ."""
    return {key} if len({*keys} - {""}) <= 1 else set()


VERDICTS: tuple[Field[SessionVerdict], ...] = (
    Field("operator", "Operator", NAME, lambda one: one.operator),
    Field("metric", "Metric", LABEL, lambda one: one.metric),
    Field(
        "verdict",
        "Verdict",
        LABEL,
        lambda one: one.verdict.value,
        lambda one: Cell(one.verdict.value, one.tone),
    ),
    Field(
        "ratio",
        "B/A",
        NUMBER,
        lambda one: one.ratio,
        lambda one: ratio_text(one.ratio, one.is_exact),
    ),
    Field("low", None, NUMBER, lambda one: one.low),
    Field("high", None, NUMBER, lambda one: one.high),
    Field("", "90 % interval", NUMBER, lambda one: interval_text(one.low, one.high)),
    Field("blocks", "Blocks", NUMBER, lambda one: one.blocks),
    commit_field("a", "A", lambda one: one.a.sha),
    commit_field("b", "B", lambda one: one.b.sha),
    Field(
        "started", "Measured", LABEL, lambda one: one.started, lambda one: date_text(one.started)
    ),
    Field("session", "Session", LABEL, lambda one: one.session),
    Field("environment", "Environment", WORD, lambda one: one.environment),
    Field("all_threads", None, LABEL, lambda one: one.all_threads),
    Field("id", None, LABEL, lambda one: one.id),
    Field("inputs", "Inputs", TEXT, lambda one: one.inputs),
)


def _of_latest(name: str) -> Field[Any]:
    return Field(f"verdict_{name}", None, NUMBER, lambda row: getattr(row.verdict, name, None))


LATEST: tuple[Field[Any], ...] = (
    Field(
        "verdict",
        "Verdict, B/A",
        WORD,
        lambda row: row.verdict.verdict.value if row.verdict else "",
        lambda row: Cell(row.verdict.text, row.verdict.tone) if row.verdict else "",
        is_optional=True,
    ),
    *map(_of_latest, ("ratio", "low", "high")),
)
"""Fields of the latest verdict on a row; None without one."""


def verdicts_section(
    title: str, verdicts: Sequence[SessionVerdict], with_names: bool = False
) -> Section:
    """Returns a table of verdicts, empty without one. Those of one series need no names."""
    if not verdicts:
        return Section()
    fields = untitled(VERDICTS, alike((verdict.environment for verdict in verdicts), "environment"))
    if not with_names:
        fields = [field for field in fields if field.title not in ("Operator", "Metric", "Inputs")]
    return Section(title=title, table=table_of(fields, verdicts))


class ShownFigure(NamedTuple):
    """A figure of a series, with its run."""

    line: Timeline
    place: int
    run: StoredRun

    @property
    def change(self) -> str:
        """The change from the figure before."""
        before = float(self.line.median[self.place - 1]) if self.place else 0.0
        return percent(float(self.line.median[self.place]) / before) if before else ""


def _fields(unit: str) -> tuple[Field[ShownFigure], ...]:
    return (
        Field("series", None, NUMBER, lambda one: one.line.id),
        Field("operator", None, NAME, lambda one: one.line.facts.name),
        Field("inputs", None, TEXT, lambda one: one.line.facts.inputs),
        Field("metric", None, LABEL, lambda one: one.line.key.metric),
        Field("environment", None, WORD, lambda one: one.line.key.environment),
        Field("run", None, NAME, lambda one: one.run.identity),
        commit_field("commit", "Commit", lambda one: one.run.commit.sha),
        Field("date", "Date", LABEL, lambda one: date_text(one.run.time)),
        Field("branch", "Branch", WORD, lambda one: one.run.branch),
        replace(DIRTY, is_optional=True).of(lambda one: one.run),
        Field("median", "Median", figure(unit), lambda one: figure_at(one.line, one.place)),
        Field("low", None, NUMBER, lambda one: number_or_null(float(one.line.low[one.place]))),
        Field("high", None, NUMBER, lambda one: number_or_null(float(one.line.high[one.place]))),
        Field("unit", None, LABEL, lambda one: one.line.facts.unit),
        Field("", "Change", NUMBER, lambda one: one.change),
        Field("", "Subject", TEXT, lambda one: one.run.commit.subject),
    )


STATES: tuple[Field[StateOf], ...] = (
    Field("state", "State", LABEL, lambda one: one.state.value),
    Field("time", "Since", LABEL, lambda one: one.time, lambda one: date_text(one.time)),
    Field("who", "By", TEXT, lambda one: one.who),
    Field("why", "Why", TEXT, lambda one: one.why),
)


def show_report(
    history: History,
    project: Project,
    environments: Mapping[str, StoredEnvironment],
    failures: Iterable[StoredFailure] = (),
    evidence: Evidence = NOTHING,
    event: Event | None = None,
    states: Sequence[StateOf] = (),
) -> Report:
    """Returns every figure of some series, and the verdicts on them; of a case that failed since,
    with its reason; of an event with its states, and the verdicts on that alone."""
    verdicts = {
        line.id: list(evidence.of_key(line.key) if event is None else evidence.touching(event))
        for line in history.timelines
    }
    shown = [figure for line in history.timelines for figure in _figures(history, line)]
    at = {run.id: run.commit.short for run in history.runs}
    failed = [
        f"{at[line.run]}: {line.status}: {line.reason}" for line in failures if line.run in at
    ]
    header, rows = rows_of(_fields(""), shown)
    return Report(
        command="history show",
        title=f"Series of {project.name}",
        sections=[
            *([_event_section(event, states)] if event is not None else []),
            *(
                section
                for line in history.timelines
                for section in (
                    _section(history, line, environments),
                    verdicts_section(f"Verdicts on #{line.id}", verdicts[line.id]),
                )
            ),
            *([Section(title="Without a figure", items=failed)] if failed else []),
        ],
        data={
            "project": project.name,
            "figures": objects_of(_fields(""), shown),
            "verdicts": {
                number: objects_of(VERDICTS, found) for number, found in verdicts.items() if found
            },
            **({} if event is None else {"event": _event_data(event, states)}),
            "commands": {
                line.id: line.facts.command for line in history.timelines if line.facts.command
            },
        },
        header=header,
        rows=rows,
    )


def _event_data(event: Event, states: Sequence[StateOf]) -> dict[str, Any]:
    texts = ("method", "last_good", "first_bad", "kind", "state")
    return {
        "event": event.id,
        **{name: getattr(event, name) for name in (*texts, "ratio", "low", "high")},
        "states": states,
    }


def _event_section(event: Event, states: Sequence[StateOf]) -> Section:
    return Section(
        title=f"Event {event.id}: {event.state.value}",
        prose=[
            f"{change_text(event)} at {sha_text(event.first_bad)}, after "
            f"{sha_text(event.last_good)}."
        ],
        table=table_of(STATES, states),
    )


def _figures(history: History, line: Timeline) -> Iterator[ShownFigure]:
    for place, run in enumerate(line.run.tolist()):
        yield ShownFigure(line, place, history.runs[run])


def _section(
    history: History, line: Timeline, environments: Mapping[str, StoredEnvironment]
) -> Section:
    known = environments.get(line.key.environment)
    machine = known.label if known and known.label else line.key.environment
    settings = f"; {line.facts.settings}" if line.facts.settings else ""
    return Section(
        title=f"#{line.id} {line.title}",
        prose=[f"On {machine}{settings}."],
        table=table_of(_fields(line.facts.unit), _figures(history, line)),
        commands=[("Measures it again", line.facts.command)] if line.facts.command else [],
    )


class CheckedEvent(NamedTuple):
    """An event with its series."""

    event: Event
    line: Timeline | None
    is_new: bool
    """Whether this check found it."""
    verdicts: Sequence[SessionVerdict] = ()
    """Of sessions on it, the latest first."""
    reason: str = ""
    """Of a series without figures."""
    machine: str = ""
    """Name of the environment."""

    @property
    def is_loss(self) -> bool:
        lower_is_better = self.line is None or self.line.facts.lower_is_better
        return self.event.may_be_code and self.event.is_loss(lower_is_better)

    @property
    def name(self) -> str:
        """The operator; of a machine its name, and the number of its series."""
        if self.line is None:
            return f"{pluralize(self.event.count, 'series')} of {self.machine}"
        return self.line.facts.name

    @property
    def metric(self) -> str:
        return self.line.key.metric if self.line else ""

    @property
    def metrics(self) -> str:
        more = self.event.count - 1 if self.line else 0
        return f"{self.metric} and {more} more" if more else self.metric

    @property
    def state(self) -> str:
        """The state, as people read it."""
        state = "open" if self.event.state is State.NEW else self.event.state.value
        return "new" if self.is_new else state

    @property
    def change(self) -> str:
        """Its change in a few words; of a series without figures `fails since 0123456789`."""
        return stop_text(self.event) if self.event.kind is Kind.STOPPED else change_text(self.event)

    @property
    def tone(self) -> Tone:
        if not self.event.may_be_code or not self.event.is_open:
            return ""
        return "worse" if self.is_loss else "better"

    @property
    def verdict(self) -> SessionVerdict | None:
        """The latest one."""
        return next(iter(self.verdicts), None)

    def fact(self, name: str) -> str:
        """Returns a fact of its series; empty of a machine."""
        return str(getattr(self.line.facts, name)) if self.line else ""

    @property
    def shown_machine(self) -> str:
        """The machine of a series: that of a machine's event is in its name."""
        return self.machine if self.line else ""
