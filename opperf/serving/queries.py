"""Answers of the API from a store."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import func, select

from opperf.history.events import Event
from opperf.history.model import WHOLE
from opperf.history.store import reading, schema
from opperf.history.store.events import read_events, read_states
from opperf.history.store.opening import Store
from opperf.history.store.rows import Project, StoredRun, StoredSeries
from opperf.history.store.verdicts import read_evidence
from opperf.history.timelines import join_history
from opperf.history.verdicts import Evidence, SessionVerdict
from opperf.serving import answers

RECENT = 20
"""Runs of a branch in which the latest figures are looked up: a nightly run may lack some cases."""


class Missing(Exception):  # noqa: N818
    """Raised for what the store does not have; the message says what."""


class Content(NamedTuple):
    """Parts of a project that most answers need."""

    project: Project
    runs: Sequence[StoredRun]
    series: Mapping[int, StoredSeries]
    """By its number, that which each goes on as: of a renamed case the new one."""
    events: Sequence[Event]
    evidence: Evidence
    points: dict[int, int]
    """By the number of a run, that of its points: filled when it is asked for."""
    latest: dict[str, dict[int, tuple[float, str]]]
    """By branch, the latest figure of each series, and its commit: filled when it is asked for."""


class Queries:
    """Answers from a store. What most of them need is kept until the store changes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._stamp: tuple[Any, ...] = ()
        self._contents: dict[str, Content] = {}

    def _content(self, name: str) -> Content:
        """Returns a project's runs, series and events. Raises `Missing` if it is not there."""
        with self._lock:
            stamp = self._read_stamp()
            if stamp != self._stamp:
                self._stamp, self._contents = stamp, {}
            if name not in self._contents:
                projects = {project.name: project for project in reading.read_projects(self.store)}
                if name not in projects:
                    raise Missing(f"no project {name!r}")
                project = projects[name]
                self._contents[name] = Content(
                    project,
                    reading.read_runs(self.store, project),
                    reading.newest_series(
                        stored
                        for stored in reading.read_series(self.store, project)
                        if stored.key.metric != WHOLE
                    ),
                    read_events(self.store, project),
                    read_evidence(self.store, project),
                    {},
                    {},
                )
            return self._contents[name]

    def _read_stamp(self) -> tuple[Any, ...]:
        """Returns a value that differs when the store was changed."""
        columns = [
            expression
            for table, column in (
                (schema.runs, schema.runs.c.added),
                (schema.events, schema.events.c.updated),
                (schema.aliases, schema.aliases.c.time),
                (schema.verdicts, schema.verdicts.c.added),
            )
            for expression in (
                select(func.count()).select_from(table).scalar_subquery(),
                select(func.max(column)).scalar_subquery(),
            )
        ]
        with self.store.reading() as connection:
            return tuple(connection.execute(select(*columns)).one())

    def projects(self) -> answers.Projects:
        """Returns all projects."""
        names = [project.name for project in reading.read_projects(self.store)]
        return answers.Projects(items=[_project(self._content(name)) for name in names])

    def runs(self, project: str, branch: str, limit: int, offset: int) -> answers.Runs:
        """Returns a page of a project's runs."""
        content = self._content(project)
        runs = [run for run in content.runs if branch in ("", run.branch)]
        found = runs[::-1][offset : offset + limit]
        uncounted = [run.id for run in found if run.id not in content.points]
        content.points.update(reading.count_figures(self.store, uncounted))
        items = [_run(run, content.points[run.id]) for run in found]
        return answers.Runs(items=items, total=len(runs))

    def series(
        self,
        project: str,
        branch: str,
        text: str,
        category: str,
        metric: str,
        environment: str,
        limit: int,
        offset: int,
    ) -> answers.SeriesPage:
        """Returns a page of a project's series that have all words of a text in their names."""
        content = self._content(project)
        words = text.lower().split()
        found = [
            stored
            for number, stored in content.series.items()
            if number == stored.id
            and category in ("", stored.facts.category)
            and metric in ("", stored.key.metric)
            and environment in ("", stored.key.environment)
            and all(word in _search_text(stored) for word in words)
        ]
        latest = self._latest_figures(content, branch)
        page = found[offset : offset + limit]
        return answers.SeriesPage(
            items=[_series(stored, latest.get(stored.id)) for stored in page], total=len(found)
        )

    def _latest_figures(self, content: Content, branch: str) -> dict[int, tuple[float, str]]:
        """Returns the latest figure and its commit, by series."""
        if branch in content.latest:
            return content.latest[branch]
        runs = [run for run in content.runs if branch in ("", run.branch) and not run.is_dirty]
        if not runs:
            # Whatever name is asked for, nothing is kept of it.
            return {}
        shas = {run.id: run.commit.sha for run in runs[-RECENT:]}
        place = {number: index for index, number in enumerate(shas)}
        points = schema.points
        query = select(points.c.run_id, points.c.series_id, points.c.median).where(
            points.c.run_id.in_(shas), points.c.median.is_not(None)
        )
        with self.store.reading() as connection:
            rows = sorted(connection.execute(query), key=lambda row: place[row.run_id])
        content.latest[branch] = found = {
            content.series[row.series_id].id: (row.median, shas[row.run_id])
            for row in rows
            # One of a run that was just added is there from the next request on.
            if row.series_id in content.series
        }
        return found

    def series_detail(self, project: str, number: int, branch: str) -> answers.SeriesDetail:
        """Returns a series with its points. Raises `Missing` if it is not there."""
        content = self._content(project)
        stored = content.series.get(number)
        if stored is None:
            raise Missing(f"{project} has no series {number}")
        # A renamed case has several.
        alike = [one for one, goes_on in content.series.items() if goes_on.id == stored.id]
        runs = [run for run in content.runs if branch in ("", run.branch) and not run.is_dirty]
        columns = reading.read_figures(self.store, content.project, alike)
        same = [stored._replace(id=old) for old in alike]
        history = join_history(runs, same, columns)
        points = [
            _point(history.runs[place], *figures)
            for line in history.timelines
            for place, *figures in zip(
                line.run.tolist(),
                line.median.tolist(),
                line.low.tolist(),
                line.high.tolist(),
                strict=True,
            )
        ]
        events = [
            _event(event, content)
            for event in content.events
            if branch in ("", event.branch)
            and (
                event.series == stored.id
                or (event.series is None and event.environment == stored.key.environment)
            )
        ]
        latest = (points[-1].median, points[-1].commit) if points else None
        return answers.SeriesDetail(
            series=_series(stored, latest),
            points=points,
            events=events,
            verdicts=list(map(_verdict, content.evidence.of_key(stored.key))),
        )

    def events(
        self, project: str, branch: str, state: str, limit: int, offset: int
    ) -> answers.Events:
        """Returns a page of a project's events."""
        content = self._content(project)
        found = [
            event
            for event in reversed(content.events)
            if branch in ("", event.branch)
            and (state in ("", event.state.value) or (state == "open" and event.is_open))
        ]
        page = found[offset : offset + limit]
        return answers.Events(items=[_event(event, content) for event in page], total=len(found))

    def event_detail(self, project: str, number: int) -> answers.EventDetail:
        """Returns an event with its states. Raises `Missing` if it is not there."""
        content = self._content(project)
        for event in content.events:
            if event.id == number:
                states = [
                    answers.StateValue(
                        state=found.state, who=found.who, why=found.why, time=found.time
                    )
                    for found in read_states(self.store, event)
                ]
                return answers.EventDetail(event=_event(event, content), states=states)
        raise Missing(f"{project} has no event {number}")

    def environments(self) -> answers.Environments:
        """Returns the environments of all projects."""
        found = reading.read_environments(self.store)
        return answers.Environments(
            items=[
                answers.EnvironmentValue(key=key, label=one.label, facts=one.facts)
                for key, one in sorted(found.items())
            ]
        )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


Item = TypeVar("Item")


def _latest_first(items: Iterable[Item]) -> list[Item]:
    """Returns each item once, by where it is last, the last first."""
    return list(dict.fromkeys(reversed(list(items))))


def _project(content: Content) -> answers.ProjectValue:
    return answers.ProjectValue(
        name=content.project.name,
        commits_of=content.project.commits_of.value,
        branches=_latest_first(run.branch for run in content.runs),
        runs=len(content.runs),
        series=sum(number == stored.id for number, stored in content.series.items()),
    )


def _when(run: StoredRun) -> float | None:
    return _known(run.started if math.isnan(run.commit.time) else run.commit.time)


def _run(run: StoredRun, points: int) -> answers.RunValue:
    return answers.RunValue(
        id=run.identity,
        commit=run.commit.sha,
        position=run.commit.position,
        time=_when(run),
        branch=run.branch,
        is_dirty=run.is_dirty,
        source=run.source,
        figures=points,
        subject=run.commit.subject,
        author=run.commit.author,
        command=run.command,
    )


def _search_text(stored: StoredSeries) -> str:
    facts = stored.facts
    words = (facts.name, facts.inputs, facts.settings, facts.category, stored.key.metric)
    return " ".join(words).lower()


def _series(stored: StoredSeries, latest: tuple[float, str] | None) -> answers.SeriesValue:
    facts, key = stored.facts, stored.key
    return answers.SeriesValue(
        id=stored.id,
        case=key.case,
        name=facts.name,
        inputs=facts.inputs,
        settings=facts.settings,
        metric=key.metric,
        unit=facts.unit,
        category=facts.category,
        framework=facts.framework,
        environment=key.environment,
        lower_is_better=facts.lower_is_better,
        command=facts.command,
        latest=None if latest is None else _known(latest[0]),
        latest_commit="" if latest is None else latest[1],
    )


def _point(run: StoredRun, median: float, low: float, high: float) -> answers.PointValue:
    return answers.PointValue(
        run=run.identity,
        commit=run.commit.sha,
        subject=run.commit.subject,
        time=_when(run),
        branch=run.branch,
        median=median,
        low=_known(low),
        high=_known(high),
    )


def _verdict(verdict: SessionVerdict) -> answers.VerdictValue:
    return answers.VerdictValue(
        session=verdict.session,
        verdict=verdict.verdict.value,
        ratio=_known(verdict.ratio),
        low=_known(verdict.low),
        high=_known(verdict.high),
        blocks=verdict.blocks,
        a=verdict.a.sha,
        b=verdict.b.sha,
        environment=verdict.key.environment,
        started=verdict.started,
        all_threads=verdict.all_threads,
    )


def _event(event: Event, content: Content) -> answers.EventValue:
    stored = None if event.series is None else content.series.get(event.series)
    facts = None if stored is None else stored.facts
    return answers.EventValue(
        id=event.id,
        kind=event.kind.value,
        state=event.state.value,
        branch=event.branch,
        series=event.series,
        name=facts.name if facts else "",
        inputs=facts.inputs if facts else "",
        metric=stored.key.metric if stored else "",
        unit=facts.unit if facts else "",
        environment=event.environment,
        last_good=event.last_good,
        first_bad=event.first_bad,
        before=_known(event.before),
        after=_known(event.after),
        ratio=_known(event.ratio),
        low=_known(event.low),
        high=_known(event.high),
        method=event.method,
        count=event.count,
        is_loss=event.is_loss(facts.lower_is_better if facts else True),
        created=event.created,
        updated=event.updated,
        verdicts=list(map(_verdict, content.evidence.touching(event))),
    )
