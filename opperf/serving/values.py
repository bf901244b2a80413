"""The values of the API: types of a history, and views of them with what a page shows beside. The
OpenAPI document has them as they are here. Parts of a project that most need, as a store has
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from opperf.formats.model import WHOLE, SeriesFacts
from opperf.history.events import Event, StateOf
from opperf.history.model import Project, StoredRun, StoredSeries
from opperf.history.store import reading, schema
from opperf.history.store.events import read_events, read_evidence
from opperf.history.store.figures import read_packed
from opperf.history.store.opening import Store
from opperf.history.verdicts import Evidence, SessionVerdict
from opperf.model import Struct

RECENT = 20
"""Runs of a branch in which the latest figures are looked up: a nightly run may lack some cases."""

Latest = tuple[float, str]
"""The latest figure of a series, and its commit."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of answers; null stands for an unknown figure."""


class Problem(Answer, frozen=True):
    """The reason why a request has no answer."""

    error: str


Item = TypeVar("Item")


class Items(Answer, Generic[Item], frozen=True):
    """All items of a kind."""

    items: list[Item]


class Page(Items[Item], Generic[Item], frozen=True):
    """Some of the items of a kind, of so many in all."""

    total: int


class ProjectValue(Answer, frozen=True):
    """A project, with its branches in the order of their latest runs."""

    name: str
    commits_of: str
    branches: list[str]
    runs: int
    series: int


class RunValue(StoredRun, frozen=True, kw_only=True, omit_defaults=False):
    """A run, with the number of its figures."""

    figures: int


class SeriesValue(SeriesFacts, frozen=True, kw_only=True, omit_defaults=False):
    """A series with its latest figure."""

    id: int
    case: str
    metric: str
    environment: str
    machine: str
    """Name of the environment: host, processor, GPUs."""
    latest: float | None
    """Of the latest runs; null if none of them has the series."""
    latest_commit: str


class PointValue(Answer, frozen=True):
    """The figure of a run."""

    run: str
    commit: str
    subject: str
    time: float
    """Seconds since 1970: of the commit, else of the run."""
    branch: str
    median: float
    low: float
    high: float


class EventValue(Event, frozen=True, kw_only=True, omit_defaults=False):
    """A change of a series, or of a machine."""

    name: str
    inputs: str
    metric: str
    unit: str
    machine: str
    """Name of the environment: host, processor, GPUs."""
    is_worse: bool
    """Whether the new level is the worse one, or there is none."""
    committed: float | None
    """When `first_bad` was committed; null if unknown."""
    verdicts: list[SessionVerdict]
    """Those on the change, the latest first."""


class SeriesDetail(Answer, frozen=True):
    """A series with all of its points and events, and the verdicts on its case and metric, the
    latest first."""

    series: SeriesValue
    points: list[PointValue]
    events: list[EventValue]
    verdicts: list[SessionVerdict]


class EventDetail(Answer, frozen=True):
    """An event with its states."""

    event: EventValue
    states: list[StateOf]


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
    counts: dict[int, int]
    """By the number of a run, that of its figures: filled when it is asked for."""
    latest: dict[str, dict[int, Latest]]
    """By branch, the latest figure of each series: filled when it is asked for."""

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
        {},
        {},
    )


def read_latest(store: Store, content: Content, branch: str) -> dict[int, Latest]:
    """Returns the latest figure of a branch, or of all, and its commit, by series."""
    shas = {run.id: run.commit.sha for run in content.clean_runs(branch)[-RECENT:]}
    place = {number: index for index, number in enumerate(shas)}
    with store.reading() as connection:
        figures, runs = read_packed(connection, schema.figures.c.run.in_(shas))
    found = zip(runs.tolist(), figures["series"].tolist(), figures["median"].tolist(), strict=True)
    return {
        content.series[series].id: (median, shas[run])
        for run, series, median in sorted(found, key=lambda figure: place[figure[0]])
        # One of a run that was just added is there from the next request on.
        if series in content.series
    }


View = TypeVar("View", bound=Struct)


def _view(kind: type[View], *values: Struct, **more: object) -> View:
    fields = {
        name: field for value in values for name, field in msgspec.structs.asdict(value).items()
    }
    return kind(**fields, **more)


def project_value(content: Content) -> ProjectValue:
    """Returns a project."""
    return ProjectValue(
        name=content.project.name,
        commits_of=content.project.commits_of.value,
        branches=list(dict.fromkeys(run.branch for run in reversed(content.runs))),
        runs=len(content.runs),
        series=len(content.newest),
    )


def run_value(run: StoredRun, figures: int) -> RunValue:
    """Returns a run, which has so many figures."""
    return _view(RunValue, run, figures=figures)


def series_value(stored: StoredSeries, content: Content, latest: Latest | None) -> SeriesValue:
    """Returns a series with its latest figure."""
    value, commit = latest or (None, "")
    return _view(
        SeriesValue,
        stored.key,
        stored.facts,
        id=stored.id,
        machine=content.machines[stored.key.environment],
        latest=value,
        latest_commit=commit,
    )


def point_value(run: StoredRun, median: float, low: float, high: float) -> PointValue:
    """Returns the figure of a run."""
    return PointValue(
        run=run.identity,
        commit=run.commit.sha,
        subject=run.commit.subject,
        time=run.time,
        branch=run.branch,
        median=median,
        low=low,
        high=high,
    )


def event_value(event: Event, content: Content) -> EventValue:
    """Returns an event, with its series and machine."""
    stored = None if event.series is None else content.series.get(event.series)
    facts = None if stored is None else stored.facts
    return _view(
        EventValue,
        event,
        name=facts.name if facts else "",
        inputs=facts.inputs if facts else "",
        metric=stored.key.metric if stored else "",
        unit=facts.unit if facts else "",
        machine=content.machines[event.environment],
        is_worse=event.is_loss(facts.lower_is_better if facts else True),
        committed=content.committed.get(event.first_bad),
        verdicts=content.evidence.touching(event),
    )
