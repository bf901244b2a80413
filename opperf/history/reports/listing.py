"""Lists of series, runs, verdicts and projects, and of the commits of `history run`, as reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from opperf.formats.model import WHOLE
from opperf.history.attempts import Attempt
from opperf.history.events import Event, Kind
from opperf.history.model import Project, StoredEnvironment, StoredRun
from opperf.history.reports.showing import (
    DIRTY,
    LATEST,
    VERDICTS,
    alike,
    commit_field,
    date_text,
    figure_at,
    figure_with_unit,
    stop_text,
    untitled,
    verdicts_section,
)
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
    objects_of,
    rows_of,
    table_of,
)
from opperf.reports.model import ColumnKind, Report, Section
from opperf.repository import Commit

Item = TypeVar("Item")


def _list(
    title: str,
    name: str,
    fields: Sequence[Field[Item]],
    items: Sequence[Item],
    sections: Sequence[Section],
    command: str = "history list",
    **data: Any,
) -> Report:
    header, rows = rows_of(fields, items)
    return Report(
        command=command,
        title=title,
        sections=sections,
        data={**data, name: objects_of(fields, items)},
        header=header,
        rows=rows,
    )


class Listed(NamedTuple):
    """A series with the commit of its latest figure."""

    line: Timeline
    commit: Commit
    verdict: SessionVerdict | None
    """The latest one."""
    stopped: str
    """Since when it has no figures; empty where it has."""


SERIES: tuple[Field[Listed], ...] = (
    Field("series", "Series", NUMBER, lambda one: one.line.id, lambda one: f"#{one.line.id}"),
    Field("operator", "Operator", NAME, lambda one: one.line.facts.name),
    Field("inputs", "Inputs", TEXT, lambda one: one.line.facts.inputs),
    Field("settings", None, TEXT, lambda one: one.line.facts.settings),
    Field("metric", "Metric", LABEL, lambda one: one.line.key.metric),
    Field("figures", "Figures", NUMBER, lambda one: len(one.line.run)),
    commit_field("commit", "At", lambda one: one.commit.sha),
    Field(
        "median",
        "Latest",
        NUMBER,
        lambda one: float(one.line.median[-1]),
        lambda one: figure_with_unit(figure_at(one.line, -1), one.line.facts.unit),
    ),
    Field("unit", None, LABEL, lambda one: one.line.facts.unit),
    Field("id", None, LABEL, lambda one: one.line.key.case),
    Field("command", None, TEXT, lambda one: one.line.facts.command),
    Field("stopped", "Stopped", LABEL, lambda one: one.stopped, is_optional=True),
    *LATEST,
    Field("environment", "Environment", WORD, lambda one: one.line.key.environment),
)


def series_report(
    history: History,
    project: Project,
    environments: Mapping[str, StoredEnvironment],
    evidence: Evidence = NOTHING,
    events: Sequence[Event] = (),
) -> Report:
    """Returns the series of a project, each with its latest figure and verdict, and since when it
    has none, by the open events."""
    stops = _stops(history, events)
    shown = [
        Listed(
            line,
            history.runs[line.run[-1]].commit,
            next(iter(evidence.of_key(line.key)), None),
            stops.get(line.id, ""),
        )
        for line in history.timelines
        if line.key.metric != WHOLE
    ]
    keys = [row.line.key.environment for row in shown]
    used = {key: environments[key] for key in dict.fromkeys(keys) if key in environments}
    closing = f"{pluralize(len(shown), 'row')}, {pluralize(len(history.runs), 'run')}"
    machines = [f"{key}: {known.label or 'unknown'}" for key, known in used.items()]
    table = table_of(untitled(SERIES, alike(keys, "environment")), shown)
    return _list(
        f"Series of {project.name}",
        "series",
        SERIES,
        shown,
        [Section(table=table, below=[closing]), Section(title="Environments", items=machines)],
        project=project.name,
        environments=used,
    )


def _stops(history: History, events: Sequence[Event]) -> dict[int, str]:
    """Returns since when series have no figures, by their numbers: all of a case that has none
    since the event's last one."""
    cases = {line.id: line.key.case for line in history.timelines}
    open_stops = {
        (cases[event.series], event.last_good): stop_text(event)
        for event in events
        if event.kind is Kind.STOPPED and event.is_open and event.series in cases
    }
    latest = {line.id: history.runs[line.run[-1]].commit.sha for line in history.timelines}
    found = {
        line.id: open_stops.get((line.key.case, latest[line.id]), "") for line in history.timelines
    }
    return {number: text for number, text in found.items() if text}


def _runs(points: Mapping[int, int]) -> tuple[Field[StoredRun], ...]:
    return (
        Field("run", "Run", NAME, lambda run: run.identity),
        commit_field("commit", "Commit", lambda run: run.commit.sha),
        Field("position", None, NUMBER, lambda run: run.commit.position),
        Field("date", "Date", LABEL, lambda run: date_text(run.time)),
        Field("branch", "Branch", WORD, lambda run: run.branch),
        DIRTY,
        Field("source", "From", WORD, lambda run: run.source),
        Field("figures", "Figures", NUMBER, lambda run: points[run.id]),
        Field("subject", "Subject", TEXT, lambda run: run.commit.subject),
        Field("command", None, TEXT, lambda run: run.command),
        Field("labels", None, LABELS, lambda run: run.labels),
    )


LABELS = ColumnKind(lambda labels: "; ".join(f"{name}={value}" for name, value in labels.items()))


def runs_report(runs: Sequence[StoredRun], project: Project, points: Mapping[int, int]) -> Report:
    """Returns the runs of a project, in the order of their commits; `points` are their figures, by
    number."""
    fields = _runs(points)
    section = Section(table=table_of(fields, runs), below=[pluralize(len(runs), "run")])
    return _list(f"Runs of {project.name}", "runs", fields, runs, [section], project=project.name)


PROJECTS: tuple[Field[Project], ...] = (
    Field("project", "Project", NAME, lambda project: project.name),
    Field("commits_of", "Commits of", WORD, lambda project: project.commits_of.value),
)


def projects_report(projects: Sequence[Project]) -> Report:
    """Returns the projects of a store."""
    section = Section(table=table_of(PROJECTS, projects))
    return _list("Projects", "projects", PROJECTS, projects, [section])


def verdicts_report(verdicts: Sequence[SessionVerdict], project: Project) -> Report:
    """Returns the verdicts of a project, the latest first."""
    count = Section(prose=[f"{pluralize(len(verdicts), 'verdict')}."])
    return _list(
        f"Verdicts of {project.name}",
        "verdicts",
        VERDICTS,
        verdicts,
        [verdicts_section("", verdicts, with_names=True), count],
        project=project.name,
    )


Tried = tuple[Commit, Attempt]

ATTEMPTS: tuple[Field[Tried], ...] = (
    commit_field("commit", "Commit", lambda row: row[0].sha),
    Field("date", "Date", LABEL, lambda row: date_text(row[0].time)),
    Field("state", "State", NAME, lambda row: row[1].outcome.value),
    Field("cases", "Cases", NUMBER, lambda row: row[1].cases, lambda row: str(row[1].cases or "")),
    Field("subject", "Subject", TEXT, lambda row: row[0].subject),
    Field("why", "Why", TEXT, lambda row: row[1].why, is_optional=True),
)


def attempts_report(
    commits: Sequence[Commit], attempts: Mapping[str, Attempt], project: str
) -> Report:
    """Returns the report of `history run`, a row for each commit, the oldest first; attempts are by
    the commit's id."""
    listed = [(commit, attempts[commit.sha]) for commit in commits]
    counts = Counter(attempt.outcome.value for _, attempt in listed)
    found = ", ".join(f"{count} {state}" for state, count in counts.items())
    closing = f"{pluralize(len(listed), 'commit')}: {found}"
    section = Section(table=table_of(ATTEMPTS, listed), below=[closing])
    title = f"Commits of {project}"
    return _list(
        title, "commits", ATTEMPTS, listed, [section], command="history run", project=project
    )
