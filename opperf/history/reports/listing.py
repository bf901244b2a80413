"""Lists of series, runs and projects, as reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opperf.formats.model import WHOLE
from opperf.history.events import Event, Kind
from opperf.history.model import Project, StoredEnvironment, StoredRun
from opperf.history.reports.verdicts import (
    change_text,
    commit_date,
    figure_at,
    figure_with_unit,
    latest_values,
    verdict_cell,
)
from opperf.history.timelines import History, Timeline
from opperf.history.verdicts import NOTHING, Evidence, SessionVerdict
from opperf.plurals import pluralize
from opperf.reports.model import Column, Report, Section, Table, names, numbers, texts, words
from opperf.repository import Commit, sha_text

COMMAND = "history list"

SERIES = (
    *("series", "operator", "inputs", "settings", "metric", "environment", "figures", "commit"),
    *("median", "unit", "id", "command", "stopped"),
    *("verdict", "verdict_ratio", "verdict_low", "verdict_high"),
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
    shown = [line for line in history.timelines if line.key.metric != WHOLE]
    verdicts = [next(iter(evidence.of_key(line.key)), None) for line in shown]
    latest = [history.runs[line.run[-1]].commit for line in shown]
    rows = [
        (
            *(line.id, line.facts.name, line.facts.inputs, line.facts.settings, line.key.metric),
            *(line.key.environment, len(line.run), commit.sha, float(line.median[-1])),
            *(line.facts.unit, line.key.case, line.facts.command, stops.get(line.id, "")),
            *latest_values(verdict),
        )
        for line, commit, verdict in zip(shown, latest, verdicts, strict=True)
    ]
    keys = list(dict.fromkeys(line.key.environment for line in shown))
    columns = _columns(shown, latest, stops, verdicts)
    machines = [
        f"{key}: {environments[key].label or 'unknown'}" for key in keys if key in environments
    ]
    title = f"Series of {project.name}"
    closing = f"{pluralize(len(shown), 'row')}, {pluralize(len(history.runs), 'run')}"
    return Report(
        command=COMMAND,
        title=title,
        sections=[
            Section(table=Table(tuple(columns)), below=[closing]),
            Section(title="Environments", items=machines),
        ],
        data={
            "project": project.name,
            "series": [dict(zip(SERIES, row, strict=True)) for row in rows],
            "environments": {
                key: {"label": environments[key].label, "facts": environments[key].facts}
                for key in keys
                if key in environments
            },
        },
        header=SERIES,
        rows=rows,
    )


def _columns(
    shown: Sequence[Timeline],
    latest: Sequence[Commit],
    stops: Mapping[int, str],
    verdicts: Sequence[SessionVerdict | None],
) -> list[Column]:
    figures = [figure_with_unit(figure_at(line, -1), line.facts.unit) for line in shown]
    columns = [
        numbers("Series", [f"#{line.id}" for line in shown]),
        names("Operator", [line.facts.name for line in shown]),
        texts("Inputs", [line.facts.inputs for line in shown]),
        words("Metric", [line.key.metric for line in shown], is_whole=True),
        numbers("Figures", [str(len(line.run)) for line in shown]),
        words("At", [commit.short for commit in latest], is_whole=True),
        numbers("Latest", figures),
    ]
    if stops:
        columns.append(words("Stopped", [stops.get(line.id, "") for line in shown], is_whole=True))
    if any(verdicts):
        columns.append(Column("Verdict, B/A", list(map(verdict_cell, verdicts))))
    environments = [line.key.environment for line in shown]
    if len(set(environments)) > 1:
        columns.append(words("Environment", environments))
    return columns


def _stops(history: History, events: Sequence[Event]) -> dict[int, str]:
    """Returns since when series have no figures, by their numbers: all of a case that has none
    since the event's last one."""
    cases = {line.id: line.key.case for line in history.timelines}
    open_stops = {
        (cases[event.series], event.last_good): f"{change_text(event)} since "
        f"{sha_text(event.first_bad)}"
        for event in events
        if event.kind is Kind.STOPPED and event.is_open and event.series in cases
    }
    latest = {line.id: history.runs[line.run[-1]].commit.sha for line in history.timelines}
    found = {
        line.id: open_stops.get((line.key.case, latest[line.id]), "") for line in history.timelines
    }
    return {number: text for number, text in found.items() if text}


RUNS = (
    *("run", "commit", "position", "date", "branch", "dirty", "source", "figures", "subject"),
    *("command", "labels"),
)


def runs_report(runs: Sequence[StoredRun], project: Project, points: Mapping[int, int]) -> Report:
    """Returns the runs of a project, in the order of their commits; `points` are their figures, by
    number."""
    rows = [
        (
            *(run.identity, run.commit.sha, run.commit.position),
            *(commit_date(run.commit, run.started), run.branch, run.is_dirty, run.source),
            *(points[run.id], run.commit.subject, run.command, run.labels),
        )
        for run in runs
    ]
    table = Table(
        (
            names("Run", [run.identity for run in runs]),
            words("Commit", [run.commit.short for run in runs], is_whole=True),
            words("Date", [commit_date(run.commit, run.started) for run in runs], is_whole=True),
            words("Branch", [run.branch for run in runs]),
            words("Tree", ["dirty" if run.is_dirty else "" for run in runs]),
            words("From", [run.source for run in runs]),
            numbers("Figures", [str(points[run.id]) for run in runs]),
            texts("Subject", [run.commit.subject for run in runs]),
        )
    )
    title = f"Runs of {project.name}"
    return Report(
        command=COMMAND,
        title=title,
        sections=[Section(table=table, below=[pluralize(len(runs), "run")])],
        data={
            "project": project.name,
            "runs": [dict(zip(RUNS, row, strict=True)) for row in rows],
        },
        header=RUNS,
        rows=[(*row[:-1], "; ".join(f"{k}={v}" for k, v in row[-1].items())) for row in rows],
    )


PROJECTS = ("project", "commits_of")


def projects_report(projects: Sequence[Project]) -> Report:
    """Returns the projects of a store."""
    rows = [(project.name, project.commits_of.value) for project in projects]
    table = Table(
        (
            names("Project", [project.name for project in projects]),
            words("Commits of", [project.commits_of.value for project in projects]),
        )
    )
    return Report(
        command=COMMAND,
        title="Projects",
        sections=[Section(table=table)],
        data={"projects": [dict(zip(PROJECTS, row, strict=True)) for row in rows]},
        header=PROJECTS,
        rows=rows,
    )
