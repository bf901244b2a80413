"""Answers of the API from a store."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
from sqlalchemy import func, select

from opperf.history.model import StoredEnvironment, StoredSeries
from opperf.history.store import reading, schema
from opperf.history.store.events import read_states
from opperf.history.store.opening import Store
from opperf.history.timelines import join_history
from opperf.serving import values
from opperf.serving.values import (
    Content,
    Items,
    Latest,
    Page,
    event_value,
    point_value,
    project_value,
    read_content,
    read_latest,
    run_value,
    series_value,
)


class Missing(Exception):
    """Raised for what the store does not have; the message says what."""


class Queries:
    """Answers from a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._stamp: tuple[Any, ...] = ()
        self._kept: dict[str, Content] = {}

    def _content(self, name: str) -> Content:
        """Returns a project, kept until the store changes. Raises `Missing` if it is not there."""
        with self._lock:
            stamp = self._read_stamp()
            if stamp != self._stamp:
                self._stamp, self._kept = stamp, {}
            if name not in self._kept:
                projects = {project.name: project for project in reading.read_projects(self.store)}
                if name not in projects:
                    raise Missing(f"no project {name!r}")
                self._kept[name] = read_content(self.store, projects[name])
            return self._kept[name]

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
                select(func.coalesce(func.max(column), 0)).scalar_subquery(),
            )
        ]
        with self.store.reading() as connection:
            return tuple(connection.execute(select(*columns)).one())

    def projects(self) -> Items[values.ProjectValue]:
        """Returns all projects."""
        names = [project.name for project in reading.read_projects(self.store)]
        return Items(items=[project_value(self._content(name)) for name in names])

    def runs(self, project: str, branch: str, limit: int, offset: int) -> Page[values.RunValue]:
        """Returns a page of a project's runs."""
        content = self._content(project)
        runs = [run for run in content.runs if branch in ("", run.branch)]
        found = runs[::-1][offset : offset + limit]
        uncounted = [run.id for run in found if run.id not in content.counts]
        content.counts.update(reading.count_figures(self.store, uncounted))
        items = [run_value(run, content.counts[run.id]) for run in found]
        return Page(items=items, total=len(runs))

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
    ) -> Page[values.SeriesValue]:
        """Returns a page of a project's series that have all words of a text in their names."""
        content = self._content(project)
        words = text.lower().split()
        found = [
            stored
            for stored in content.newest
            if category in ("", stored.facts.category)
            and metric in ("", stored.key.metric)
            and environment in ("", stored.key.environment)
            and all(word in _search_text(stored) for word in words)
        ]
        latest = self._latest_figures(content, branch)
        items = [
            series_value(stored, content, latest.get(stored.id))
            for stored in found[offset : offset + limit]
        ]
        return Page(items=items, total=len(found))

    def _latest_figures(self, content: Content, branch: str) -> dict[int, Latest]:
        if branch not in content.latest:
            # Whatever name is asked for, nothing is kept of it.
            if not content.clean_runs(branch):
                return {}
            content.latest[branch] = read_latest(self.store, content, branch)
        return content.latest[branch]

    def series_detail(self, project: str, number: int, branch: str) -> values.SeriesDetail:
        """Returns a series with its points. Raises `Missing` if it is not there."""
        content = self._content(project)
        stored = content.series.get(number)
        if stored is None:
            raise Missing(f"{project} has no series {number}")
        # A renamed case has several.
        alike = [one for one, goes_on in content.series.items() if goes_on.id == stored.id]
        runs = content.clean_runs(branch)
        columns = reading.read_figures(self.store, content.project, alike)
        same = [msgspec.structs.replace(stored, id=old) for old in alike]
        history = join_history(runs, same, columns)
        points = [
            point_value(history.runs[place], *figures)
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
            event_value(event, content)
            for event in content.events
            if branch in ("", event.branch)
            and (
                event.series == stored.id
                or (event.series is None and event.environment == stored.key.environment)
            )
        ]
        latest = (points[-1].median, points[-1].commit) if points else None
        return values.SeriesDetail(
            series=series_value(stored, content, latest),
            points=points,
            events=events,
            verdicts=list(content.evidence.of_key(stored.key)),
        )

    def events(
        self, project: str, branch: str, state: str, limit: int, offset: int
    ) -> Page[values.EventValue]:
        """Returns a page of a project's events."""
        content = self._content(project)
        found = [
            event
            for event in reversed(content.events)
            if branch in ("", event.branch)
            and (state in ("", event.state.value) or (state == "open" and event.is_open))
        ]
        page = found[offset : offset + limit]
        return Page(items=[event_value(event, content) for event in page], total=len(found))

    def event_detail(self, project: str, number: int) -> values.EventDetail:
        """Returns an event with its states. Raises `Missing` if it is not there."""
        content = self._content(project)
        for event in content.events:
            if event.id == number:
                states = read_states(self.store, content.project)[event.id]
                return values.EventDetail(event=event_value(event, content), states=states)
        raise Missing(f"{project} has no event {number}")

    def environments(self) -> Items[StoredEnvironment]:
        """Returns the environments of all projects."""
        found = reading.read_environments(self.store)
        return Items(items=[found[key] for key in sorted(found)])


def _search_text(stored: StoredSeries) -> str:
    facts = stored.facts
    words = (facts.name, facts.inputs, facts.settings, facts.category, stored.key.metric)
    return " ".join(words).lower()
