"""The values of the API, of what a store has.

Parts of a project that most answers need, as they are read from a store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from opperf.formats.model import WHOLE
from opperf.history.events import Event, StateOf
from opperf.history.model import Project, StoredRun, StoredSeries
from opperf.history.store import reading, schema
from opperf.history.store.events import read_events, read_evidence
from opperf.history.store.figures import read_packed
from opperf.history.store.opening import Store
from opperf.history.verdicts import Evidence, SessionVerdict
from opperf.serving import answers

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
    with store.reading() as connection:
        figures, runs = read_packed(connection, schema.figures.c.run.in_(shas))
    found = zip(runs.tolist(), figures["series"].tolist(), figures["median"].tolist(), strict=True)
    return {
        content.series[series].id: (median, shas[run])
        for run, series, median in sorted(found, key=lambda figure: place[figure[0]])
        # One of a run that was just added is there from the next request on.
        if series in content.series
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


Item = TypeVar("Item")


def _latest_first(items: Iterable[Item]) -> list[Item]:
    """Returns each item once, by where it is last, the last first."""
    return list(dict.fromkeys(reversed(list(items))))


def project_value(content: Content) -> answers.ProjectValue:
    """Returns a project."""
    return answers.ProjectValue(
        name=content.project.name,
        commits_of=content.project.commits_of.value,
        branches=_latest_first(run.branch for run in content.runs),
        runs=len(content.runs),
        series=len(content.newest),
    )


def _when(run: StoredRun) -> float | None:
    return _known(run.started if math.isnan(run.commit.time) else run.commit.time)


def run_value(run: StoredRun, points: int) -> answers.RunValue:
    """Returns a run, which has so many figures."""
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


def series_value(
    stored: StoredSeries, content: Content, latest: Latest | None
) -> answers.SeriesValue:
    """Returns a series with its latest figure."""
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
        machine=content.machines[key.environment],
        lower_is_better=facts.lower_is_better,
        command=facts.command,
        latest=None if latest is None else _known(latest[0]),
        latest_commit="" if latest is None else latest[1],
    )


def point_value(run: StoredRun, median: float, low: float, high: float) -> answers.PointValue:
    """Returns the figure of a run."""
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


def verdict_value(verdict: SessionVerdict) -> answers.VerdictValue:
    """Returns the verdict of a session."""
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


def event_value(event: Event, content: Content) -> answers.EventValue:
    """Returns an event, with its series and machine."""
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
        machine=content.machines[event.environment],
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
        committed=_known(content.committed.get(event.first_bad, math.nan)),
        created=event.created,
        updated=event.updated,
        verdicts=list(map(verdict_value, content.evidence.touching(event))),
    )


def state_value(state: StateOf) -> answers.StateValue:
    """Returns a state that an event had."""
    return answers.StateValue(state=state.state, who=state.who, why=state.why, time=state.time)
