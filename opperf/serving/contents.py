"""Parts of a project that most answers need, as they are read from a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import select

from opperf.history.events import Event
from opperf.history.model import WHOLE
from opperf.history.store import reading, schema
from opperf.history.store.events import read_events
from opperf.history.store.opening import Store
from opperf.history.store.rows import Project, StoredRun, StoredSeries
from opperf.history.store.verdicts import read_evidence
from opperf.history.verdicts import Evidence

RECENT = 20
"""Runs of a branch in which the latest figures are looked up: a nightly run may lack some cases."""

Latest = tuple[float, str]
"""The latest figure of a series, and its commit."""


class Content(NamedTuple):
    """Parts of a project that most answers need."""

    project: Project
    runs: Sequence[StoredRun]
    series: Mapping[int, StoredSeries]
    """By its number, that which each goes on as: of a renamed case the new one."""
    events: Sequence[Event]
    evidence: Evidence
    machines: Mapping[str, str]
    """By the key of an environment, the name of its machine."""
    committed: Mapping[str, float]
    """By the id of a commit, when it was committed; NaN if unknown."""

    @property
    def newest(self) -> Sequence[StoredSeries]:
        """The series without those that go on as another."""
        return [stored for number, stored in self.series.items() if number == stored.id]

    def clean_runs(self, branch: str) -> list[StoredRun]:
        """Returns the runs of a branch, or of all, without those of changed trees."""
        return [run for run in self.runs if branch in ("", run.branch) and not run.is_dirty]


def read_content(store: Store, project: Project) -> Content:
    """Returns a project's runs, series and events."""
    runs = reading.read_runs(store, project)
    stored = reading.read_series(store, project)
    return Content(
        project,
        runs,
        reading.newest_series(found for found in stored if found.key.metric != WHOLE),
        read_events(store, project),
        read_evidence(store, project),
        reading.machine_names(reading.read_environments(store)),
        {run.commit.sha: run.commit.time for run in runs},
    )


def read_latest(store: Store, content: Content, branch: str) -> dict[int, Latest]:
    """Returns the latest figure of a branch, or of all, and its commit, by series."""
    shas = {run.id: run.commit.sha for run in content.clean_runs(branch)[-RECENT:]}
    place = {number: index for index, number in enumerate(shas)}
    points = schema.points
    query = select(points.c.run_id, points.c.series_id, points.c.median).where(
        points.c.run_id.in_(shas), points.c.median.is_not(None)
    )
    with store.reading() as connection:
        rows = sorted(connection.execute(query), key=lambda row: place[row.run_id])
    return {
        content.series[row.series_id].id: (row.median, shas[row.run_id])
        for row in rows
        # One of a run that was just added is there from the next request on.
        if row.series_id in content.series
    }
