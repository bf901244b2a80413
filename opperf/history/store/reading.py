"""Reads projects, runs, series, figures and verdicts of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Row, func, select

from opperf.errors import UsageError, unknown
from opperf.formats.model import OK, Point, SeriesFacts, SeriesKey
from opperf.history.model import (
    DamagedError,
    Project,
    StoredEnvironment,
    StoredFailure,
    StoredRun,
    StoredSeries,
)
from opperf.history.store import schema
from opperf.history.store.figures import FIGURE, Columns, points_of, read_columns, read_packed
from opperf.history.store.opening import Store, display
from opperf.history.verdicts import SessionVerdict
from opperf.model import Struct
from opperf.repository import Commit

T = TypeVar("T", bound=Struct)


def value_of(kind: type[T], row: Row[Any], **more: Any) -> T:
    """Returns the value of a type that a row is of, with fields that are no columns."""
    columns = row._mapping
    found = {name: columns[name] for name in kind.__struct_fields__ if name in columns}
    return kind(**{**found, **more})


def read_projects(store: Store) -> list[Project]:
    """Returns all projects, by name."""
    with store.reading() as connection:
        rows = connection.execute(select(schema.projects).order_by(schema.projects.c.name))
        return [value_of(Project, row) for row in rows]


def find_project(store: Store, name: str = "") -> Project:
    """Returns a project, the only one if none is named. Raises `UsageError` for one that is not
    there, and without a name if there are several."""
    found = {project.name: project for project in read_projects(store)}
    if name and name in found:
        return found[name]
    if not found:
        raise UsageError(
            f"{display(store.name)} has no runs yet; add some: opperf history add RUNFILE"
        )
    if name:
        raise unknown("project", name, found, display(store.name))
    if len(found) > 1:
        raise UsageError(f"name one of the projects with --project: {', '.join(found)}")
    return next(iter(found.values()))


def read_branches(store: Store, project: Project) -> list[str]:
    """Returns the branches that a project has runs of."""
    runs = schema.runs
    query = select(runs.c.branch).where(runs.c.project == project.id).distinct()
    with store.reading() as connection:
        return sorted(connection.execute(query).scalars())


def read_runs(store: Store, project: Project) -> list[StoredRun]:
    """Returns the runs of a project, in the order of their commits: by the number of ancestors if
    all have one, else by the times of commits, and runs of one commit by when they started."""
    runs, commits = schema.runs, schema.commits
    query = (
        select(runs, *(commits.c[name] for name in Commit.__struct_fields__))
        .join(commits, runs.c.commit_id == commits.c.id)
        .where(runs.c.project == project.id)
    )
    with store.reading() as connection:
        found = [
            value_of(StoredRun, row, commit=value_of(Commit, row))
            for row in connection.execute(query)
        ]
    by_position = all(run.commit.position is not None for run in found)
    return sorted(
        found,
        key=lambda run: (
            run.commit.position if by_position else 0,
            *(run.time, run.commit.sha, run.started, run.id),
        ),
    )


def count_figures(store: Store, runs: Collection[int]) -> dict[int, int]:
    """Returns the number of figures of each of some runs, by the run's number."""
    table = schema.figures
    size = func.sum(func.length(table.c.content)).label("size")
    query = select(table.c.run, size).where(table.c.run.in_(runs)).group_by(table.c.run)
    with store.reading() as connection:
        found = {row.run: int(row.size) // FIGURE.itemsize for row in connection.execute(query)}
    return {number: found.get(number, 0) for number in runs}


def read_commits(store: Store, project: Project) -> dict[str, Commit]:
    """Returns the commits of a project, by id."""
    query = select(schema.commits).where(schema.commits.c.project == project.id)
    with store.reading() as connection:
        return {row.sha: value_of(Commit, row) for row in connection.execute(query)}


def read_aliases(store: Store, project: Project) -> dict[str, str]:
    """Returns, by the id of a case that has another now, that one, the last of a chain."""
    query = select(schema.aliases).where(schema.aliases.c.project == project.id)
    with store.reading() as connection:
        direct = {row.old: row.new for row in connection.execute(query)}
    return {old: last_name(old, direct) for old in direct}


def last_name(name: str, direct: Mapping[str, str]) -> str:
    """Returns the last of a chain of names."""
    while name in direct:
        name = direct[name]
    return name


def read_series(store: Store, project: Project) -> list[StoredSeries]:
    """Returns the series of a project, those of a case with an alias under the id that goes on."""
    series = schema.series.c
    names = read_aliases(store, project)
    query = (
        select(schema.series)
        .where(series.project == project.id)
        .order_by(series.name, series.inputs, series.metric, series.id)
    )
    with store.reading() as connection:
        return [
            StoredSeries(row.id, _key(row, names), value_of(SeriesFacts, row))
            for row in connection.execute(query)
        ]


def _key(row: Row[Any], names: Mapping[str, str]) -> SeriesKey:
    case = row._mapping["case"]
    return value_of(SeriesKey, row, case=names.get(case, case))


def newest_series(series: Iterable[StoredSeries]) -> dict[int, StoredSeries]:
    """Returns, by its number, the series that each goes on as: the newest with its key, of which
    a renamed case has several."""
    found = list(series)
    newest = {stored.key: stored for stored in sorted(found, key=lambda stored: stored.id)}
    return {stored.id: newest[stored.key] for stored in found}


def read_figures(store: Store, project: Project, series: Collection[int] | None = None) -> Columns:
    """Returns the figures of some series, or of all of the project; bounds are NaN if unknown."""
    with store.reading() as connection:
        return read_columns(connection, project.id, series)


def read_points(store: Store, project: Project) -> Iterator[tuple[int, int, Point]]:
    """Yields the series and the run of each point of a project, and the point with its samples."""
    figures, samples = schema.figures.c, schema.samples
    failures = {(each.series, each.run): each for each in read_failures(store, project)}
    for (series, run), failure in failures.items():
        yield series, run, Point(status=failure.status, reason=failure.reason)
    for stored in read_runs(store, project):
        query = select(samples.c.series, samples.c.content).where(samples.c.run == stored.id)
        with store.reading() as connection:
            found, _ = read_packed(connection, figures.run == stored.id)
            drawn = {
                row.series: np.frombuffer(row.content, "<f8").tolist()
                for row in connection.execute(query)
            }
        numbers = found["series"].tolist()
        points = points_of(found, [drawn.get(number, ()) for number in numbers])
        for number, point in zip(numbers, points, strict=True):
            yield number, stored.id, point


def read_failures(store: Store, project: Project) -> list[StoredFailure]:
    """Returns what ended without a figure."""
    failures, runs = schema.failures, schema.runs
    query = (
        select(failures)
        .join(runs, failures.c.run == runs.c.id)
        .where(runs.c.project == project.id)
        .order_by(failures.c.series, failures.c.run)
    )
    with store.reading() as connection:
        return [value_of(StoredFailure, row) for row in connection.execute(query)]


def read_cases(store: Store, project: Project, sha: str) -> dict[tuple[str, str], frozenset[str]]:
    """Returns the cases that runs of a commit have, each with the key of its environment, and the
    statuses of their points; of a case with an alias under the id that goes on. Runs of trees with
    uncommitted changes do not count."""
    runs = {
        run.id for run in read_runs(store, project) if run.commit.sha == sha and not run.is_dirty
    }
    with store.reading() as connection:
        figures, _ = read_packed(connection, schema.figures.c.run.in_(runs))
    statuses = {(number, OK) for number in figures["series"].tolist()}
    statuses |= {
        (failure.series, failure.status)
        for failure in read_failures(store, project)
        if failure.run in runs
    }
    keys = {stored.id: stored.key for stored in read_series(store, project)}
    found: dict[tuple[str, str], frozenset[str]] = {}
    for number, status in statuses:
        place = (keys[number].case, keys[number].environment)
        found[place] = found.get(place, frozenset()) | {status}
    return found


def read_environments(store: Store) -> dict[str, StoredEnvironment]:
    """Returns the environments by their keys."""
    with store.reading() as connection:
        rows = connection.execute(select(schema.environments))
        return {row.key: value_of(StoredEnvironment, row) for row in rows}


SHOWN_KEY = 6
"""Characters of a key that tell apart environments of one name."""


def machine_names(environments: Mapping[str, StoredEnvironment]) -> dict[str, str]:
    """Returns the name of each environment, by its key: its label, with the beginning of the key if
    another one has the same, else the key."""
    labels = Counter(found.label for found in environments.values())
    return {
        key: f"{found.label}, {key[:SHOWN_KEY]}" if labels[found.label] > 1 else found.label
        for key, found in environments.items()
        if found.label
    } | {key: key for key, found in environments.items() if not found.label}


def read_verdicts(store: Store, project: Project) -> list[SessionVerdict]:
    """Returns the verdicts of a project, those of a case with an alias under the id that goes
    on."""
    verdicts, commits = schema.verdicts, schema.commits
    names = read_aliases(store, project)
    query = select(verdicts).where(verdicts.c.project == project.id).order_by(verdicts.c.id)
    with store.reading() as connection:
        rows = connection.execute(query).all()
        # Not by their numbers, of which a query takes so many only.
        of = select(commits).where(commits.c.project == project.id)
        known = {row.id: value_of(Commit, row) for row in connection.execute(of)}
        if not {id for row in rows for id in (row.a_id, row.b_id)} <= known.keys():
            raise DamagedError("a verdict is of a commit that is not there")
        return [
            value_of(
                SessionVerdict,
                row,
                id=names.get(row.case, row.case),
                a=known[row.a_id],
                b=known[row.b_id],
            )
            for row in rows
        ]
