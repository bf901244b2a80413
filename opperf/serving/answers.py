"""The values of the API: the OpenAPI document has them as they are here."""

from __future__ import annotations

from typing import Any

import msgspec


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the values of the API; null stands for an unknown figure."""


class Problem(Answer, frozen=True):
    """The reason why a request has no answer."""

    error: str


class ProjectValue(Answer, frozen=True):
    """A project, with its branches in the order of their latest runs."""

    name: str
    commits_of: str
    branches: list[str]
    runs: int
    series: int


class Projects(Answer, frozen=True):
    """All projects of the store."""

    items: list[ProjectValue]


class RunValue(Answer, frozen=True):
    """A run, in the order of the commits."""

    id: str
    commit: str
    position: int | None
    time: float | None
    """Seconds since 1970: of the commit, else of the run."""
    branch: str
    is_dirty: bool
    source: str
    figures: int
    subject: str
    author: str
    command: str


class Runs(Answer, frozen=True):
    """A page of runs, the latest first."""

    items: list[RunValue]
    total: int


class SeriesValue(Answer, frozen=True):
    """A series with its latest figure."""

    id: int
    case: str
    name: str
    inputs: str
    settings: str
    metric: str
    unit: str
    category: str
    framework: str
    environment: str
    machine: str
    """Name of the environment: host, processor, GPUs."""
    lower_is_better: bool
    command: str
    latest: float | None
    """Of the latest runs; null if none of them has the series."""
    latest_commit: str


class SeriesPage(Answer, frozen=True):
    """A page of series, by name, inputs and metric."""

    items: list[SeriesValue]
    total: int


class PointValue(Answer, frozen=True):
    """The figure of a run."""

    run: str
    commit: str
    subject: str
    time: float | None
    branch: str
    median: float
    low: float | None
    high: float | None


class VerdictValue(Answer, frozen=True):
    """The verdict of a session on B against A, which were measured in turn."""

    session: str
    verdict: str
    ratio: float | None
    """B over A."""
    low: float | None
    high: float | None
    """Its 90 % interval; of an exact metric the ratio itself."""
    blocks: int
    a: str
    b: str
    environment: str
    started: float
    all_threads: str
    """With all threads, of a session of fewer: slower, faster or no change; empty if unknown."""


class EventValue(Answer, frozen=True):
    """A change of a series, or of a machine."""

    id: int
    kind: str
    state: str
    branch: str
    series: int | None
    name: str
    inputs: str
    metric: str
    unit: str
    environment: str
    machine: str
    """Name of the environment: host, processor, GPUs."""
    last_good: str
    first_bad: str
    before: float | None
    after: float | None
    ratio: float | None
    low: float | None
    high: float | None
    method: str
    """How it was found; of a series without figures, how it stopped: fails, missing, impossible."""
    count: int
    """Number of series that changed together."""
    is_loss: bool
    committed: float | None
    """When `first_bad` was committed; null if unknown."""
    created: float
    """When a check found it."""
    updated: float
    verdicts: list[VerdictValue]
    """Those on the change, the latest first."""


class Events(Answer, frozen=True):
    """A page of events, the latest first."""

    items: list[EventValue]
    total: int


class SeriesDetail(Answer, frozen=True):
    """A series with all of its points and events, and the verdicts on its case and metric, the
    latest first."""

    series: SeriesValue
    points: list[PointValue]
    events: list[EventValue]
    verdicts: list[VerdictValue]


class StateValue(Answer, frozen=True):
    """A state that an event had from a time on."""

    state: str
    who: str
    why: str
    time: float


class EventDetail(Answer, frozen=True):
    """An event with its states."""

    event: EventValue
    states: list[StateValue]


class EnvironmentValue(Answer, frozen=True):
    """An environment; its facts are those that opperf or another tool recorded."""

    key: str
    label: str
    facts: dict[str, Any]


class Environments(Answer, frozen=True):
    """All environments of the store."""

    items: list[EnvironmentValue]
