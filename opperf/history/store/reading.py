"""Reads projects, runs, series and points of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, Select, and_, func, select

from opperf.decoding import decode_as
from opperf.errors import UsageError, unknown
from opperf.formats.model import Point, SeriesKey
from opperf.history.model import CommitsOf
from opperf.history.store import schema
from opperf.history.store.aliases import read_aliases
from opperf.history.store.figures import Array, Columns, finite, read_packed
from opperf.history.store.opening import Store, display
from opperf.history.store.rows import (
    COMMIT,
    Project,
    StoredRun,
    StoredSeries,
    commit_of,
    facts_of,
    point_of,
    run_of,
    run_order,
)
from opperf.repository import Commit

FETCHED = 100_000
"""Rows that are fetched at once: some megabytes."""


def read_projects(store: Store) -> list[Project]:
    """Returns all projects, by name."""
    with store.reading() as connection:
        rows = connection.execute(select(schema.projects).order_by(schema.projects.c.name))
        return [Project(row.id, row.name, CommitsOf(row.commits_of)) for row in rows]


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
    """Returns the runs of a project, in the order of their commits."""
    runs, commits = schema.runs, schema.commits
    query = (
        select(runs, *(commits.c[name] for name in COMMIT))
        .join(commits, runs.c.commit_id == commits.c.id)
        .where(runs.c.project == project.id)
    )
    with store.reading() as connection:
        found = [run_of(row) for row in connection.execute(query)]
    return sorted(found, key=run_order(found))


def count_figures(store: Store, runs: Collection[int]) -> dict[int, int]:
    """Returns the number of figures of each of some runs, by the run's number."""
    points = schema.points
    run = points.c.run_id
    query = (
        select(run, func.count(points.c.median).label("number")).where(run.in_(runs)).group_by(run)
    )
    with store.reading() as connection:
        found = {row.run_id: row.number for row in connection.execute(query)}
    return {number: found.get(number, 0) for number in runs}


def read_commits(store: Store, project: Project) -> dict[str, Commit]:
    """Returns the commits of a project, by id."""
    query = select(schema.commits).where(schema.commits.c.project == project.id)
    with store.reading() as connection:
        return {row.sha: commit_of(row) for row in connection.execute(query)}


def read_series(store: Store, project: Project) -> list[StoredSeries]:
    """Returns the series of a project, those of a case with an alias under the id that goes on."""
    series, environments = schema.series, schema.environments
    names = read_aliases(store, project)
    query = (
        select(series, environments.c.key)
        .join(environments, series.c.environment_id == environments.c.id)
        .where(series.c.project == project.id)
        .order_by(series.c.name, series.c.inputs, series.c.metric, series.c.id)
    )
    with store.reading() as connection:
        return [
            _series(row, names.get(row.case_id, row.case_id)) for row in connection.execute(query)
        ]


def newest_series(series: Iterable[StoredSeries]) -> dict[int, StoredSeries]:
    """Returns, by its number, the series that each goes on as: the newest with its key, of which
    a renamed case has several."""
    found = list(series)
    newest = {stored.key: stored for stored in sorted(found, key=lambda stored: stored.id)}
    return {stored.id: newest[stored.key] for stored in found}


def _series(row: Row[Any], case: str) -> StoredSeries:
    return StoredSeries(row.id, SeriesKey(case, row.metric, row.key), facts_of(row))


def read_figures(store: Store, project: Project, series: Collection[int] | None = None) -> Columns:
    """Returns the figures of some series, or of all of the project; bounds are NaN if unknown."""
    points = schema.points
    columns = (points.c.series_id, points.c.run_id, points.c.median, points.c.low, points.c.high)
    with store.reading() as connection:
        if series is None:
            return read_packed(connection, project.id)
        query = (
            select(*columns)
            .where(points.c.series_id.in_(series), points.c.median.is_not(None))
            .order_by(points.c.series_id, points.c.run_id)
        )
        found = read_numbers(connection, query)
    ids = found[:, :2].astype(np.int64)
    return finite(Columns(ids[:, 0], ids[:, 1], *found[:, 2:].T))


def read_points(store: Store, project: Project) -> Iterator[tuple[int, int, Point]]:
    """Yields the series and the run of each point of a project, and the point with its samples."""
    points, runs, samples = schema.points, schema.runs, schema.samples
    same = (samples.c.series_id == points.c.series_id, samples.c.run_id == points.c.run_id)
    query = (
        select(points, samples.c.content)
        .join(runs, points.c.run_id == runs.c.id)
        .outerjoin(samples, and_(*same))
        .where(runs.c.project == project.id)
        .order_by(points.c.series_id, points.c.run_id)
    )
    with store.reading() as connection:
        for row in connection.execution_options(yield_per=FETCHED).execute(query):
            content = np.frombuffer(row.content or b"", "<f8").tolist()
            yield row.series_id, row.run_id, point_of(row, content)


class Failure(NamedTuple):
    """A case that a run has no figure of."""

    series: int
    run: int
    status: str
    reason: str


def read_failures(store: Store, project: Project) -> list[Failure]:
    """Returns what ended without a figure."""
    points, runs = schema.points, schema.runs
    query = (
        select(points.c.series_id, points.c.run_id, points.c.status, points.c.reason)
        .join(runs, points.c.run_id == runs.c.id)
        .where(runs.c.project == project.id, schema.WITHOUT_FIGURE)
    )
    with store.reading() as connection:
        return [Failure(*row) for row in connection.execute(query)]


def read_cases(store: Store, project: Project, sha: str) -> dict[tuple[str, str], frozenset[str]]:
    """Returns the cases that runs of a commit have, each with the key of its environment, and the
    statuses of their points; of a case with an alias under the id that goes on. Runs of trees with
    uncommitted changes do not count."""
    points, runs, series = schema.points, schema.runs, schema.series
    query = (
        select(series.c.case_id, schema.environments.c.key, points.c.status)
        .join(points, points.c.series_id == series.c.id)
        .join(schema.environments, series.c.environment_id == schema.environments.c.id)
        .join(runs, points.c.run_id == runs.c.id)
        .join(schema.commits, runs.c.commit_id == schema.commits.c.id)
        .where(runs.c.project == project.id, schema.commits.c.sha == sha, ~runs.c.is_dirty)
        .distinct()
    )
    names = read_aliases(store, project)
    found: dict[tuple[str, str], frozenset[str]] = {}
    with store.reading() as connection:
        for case, key, status in connection.execute(query):
            place = (names.get(case, case), key)
            found[place] = found.get(place, frozenset()) | {status}
    return found


class StoredEnvironment(NamedTuple):
    """An environment of a store."""

    label: str
    facts: dict[str, Any]


def read_environments(store: Store) -> dict[str, StoredEnvironment]:
    """Returns the environments by their keys."""
    with store.reading() as connection:
        return {
            row.key: StoredEnvironment(row.label, decode_as(row.facts.encode(), dict[str, Any]))
            for row in connection.execute(select(schema.environments))
        }


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


SIGNATURE, TRAILER = 19, 2
"""Bytes before and after the rows of PostgreSQL's binary copy: signature, flags and the length of
an extension, which is 0; and a row of -1 columns."""


def read_numbers(connection: Connection, query: Select[Any]) -> Array:
    """Returns the rows of a query whose columns are all numbers, as an array of doubles of shape
    (rows, columns); NULL is NaN. Raises the driver's errors. Rows as objects of SQLAlchemy take
    longer than all else."""
    compiled = query.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    names = [column.name for column in query.selected_columns]
    read = READERS[connection.dialect.name]
    return read(connection.connection.driver_connection, str(compiled), names)


def _sqlite(driver: Any, sql: str, names: list[str]) -> Array:
    # What overflows is infinity, which no store has; `fromiter` takes no None.
    columns = ", ".join(f"coalesce({name}, 9e999)" for name in names)
    rows = driver.execute(f"SELECT {columns} FROM ({sql})")
    found = np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, len(names))
    found[np.isinf(found)] = np.nan
    return found


def _postgresql(driver: Any, sql: str, names: list[str]) -> Array:
    columns = ", ".join(f"coalesce({name}::float8, 'NaN')" for name in names)
    with driver.cursor() as cursor:
        command = f"COPY (SELECT {columns} FROM ({sql}) AS found) TO STDOUT (FORMAT BINARY)"
        with cursor.copy(command) as copy:
            content = b"".join(copy)
    cell = np.dtype([("size", ">i4"), ("value", ">f8")])
    row = np.dtype([("columns", ">i2"), ("cells", cell, (len(names),))])
    count = (len(content) - SIGNATURE - TRAILER) // row.itemsize
    cells = np.frombuffer(content, row, count, SIGNATURE)["cells"]
    return cells["value"].astype(np.float64)


READERS: dict[str, Callable[[Any, str, list[str]], Array]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
}
