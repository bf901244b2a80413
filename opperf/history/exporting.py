"""The part of a history that is exported: runs of one branch with their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opperf.errors import UsageError, unknown
from opperf.formats.exporting import Export, Remark, name_of
from opperf.formats.model import Entry, SeriesKey, Submission
from opperf.history.model import Project, StoredRun, StoredSeries
from opperf.history.store.opening import Store, StoreError
from opperf.history.store.reading import (
    read_environments,
    read_points,
    read_runs,
    read_series,
    read_verdicts,
)
from opperf.history.verdicts import SessionVerdict, by_figure
from opperf.results.figures import distinct_names


def collect(
    store: Store, project: Project, branch: str = "", environment: str = "", run: str = ""
) -> Export:
    """Returns the runs of a branch, or of all if there is one, but those of trees with uncommitted
    changes; only the figures of an environment, and only a run, if it is named. Raises `UsageError`
    for a branch, an environment and a run that is not there."""
    runs = [found for found in read_runs(store, project) if not found.is_dirty]
    branches = sorted({found.branch for found in runs})
    if branch and branch not in branches:
        raise unknown("branch", branch, branches, project.name)
    if not branch and len(branches) > 1:
        raise UsageError(f"name one of the branches with --branch: {', '.join(branches)}")
    runs = [found for found in runs if branch in ("", found.branch)]
    if run:
        identities = [found.identity for found in runs]
        runs = [found for found in runs if found.identity == run]
        if not runs:
            raise unknown("run", run, identities, project.name)
    series = {stored.id: stored for stored in read_series(store, project)}
    keys = sorted({stored.key.environment for stored in series.values()})
    if not any(key.startswith(environment) for key in keys):
        raise unknown("environment", environment, keys, project.name)
    submissions = _submissions(store, project, runs, series, environment)
    listed = [entry for found in submissions for entry in found.entries]
    figures = {(entry.key.case, entry.key.metric) for entry in listed}
    verdicts = by_figure(
        verdict
        for verdict in read_verdicts(store, project)
        if (verdict.id, verdict.metric) in figures
    )
    return Export(
        project.name,
        submissions,
        distinct_names({entry.key.case: name_of(entry) for entry in listed}),
        remarks={
            (found.id, entry.key): remarks
            for found in submissions
            for entry in found.figures
            if (remarks := _remarks(verdicts, found, entry))
        },
        verdicts=sum(map(len, verdicts.values())),
    )


def _submissions(
    store: Store,
    project: Project,
    runs: Sequence[StoredRun],
    series: Mapping[int, StoredSeries],
    environment: str,
) -> tuple[Submission, ...]:
    entries: dict[int, dict[SeriesKey, Entry]] = {found.id: {} for found in runs}
    for number, of, point in read_points(store, project):
        stored = series.get(number)
        if stored is None:
            raise StoreError(f"{project.name}: the store is damaged: a figure is of no series")
        if of in entries and stored.key.environment.startswith(environment):
            entries[of][stored.key] = Entry(stored.key, stored.facts, point)
    kept = [found for found in runs if entries[found.id]]
    if not kept:
        raise UsageError(f"{project.name} has no figures to export there")
    machines = read_environments(store)
    return tuple(
        Submission(
            id=found.identity,
            commit=found.commit,
            branch=found.branch,
            started=found.started,
            entries=tuple(own.values()),
            source=found.source,
            environments={
                key: machines[key].facts for key in dict.fromkeys(at.environment for at in own)
            },
        )
        for found in kept
        for own in [entries[found.id]]
    )


def _remarks(
    verdicts: Mapping[tuple[str, str], Sequence[SessionVerdict]], run: Submission, entry: Entry
) -> list[Remark]:
    """Returns the verdicts on a figure whose commit is B's, the latest first."""
    return [
        Remark(
            verdict.session,
            verdict.sentence,
            {
                "verdict": verdict.verdict.value,
                "ratio": verdict.ratio,
                "low": verdict.low,
                "high": verdict.high,
                "against": verdict.a.sha,
            },
        )
        for verdict in verdicts.get((entry.key.case, entry.key.metric), ())
        if verdict.b.sha == run.commit.sha
    ]
