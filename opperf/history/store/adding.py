"""Adds runs to a store: each with all of its points, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Table, func, literal, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from opperf.formats.model import WHOLE, Entry, SeriesKey, Submission
from opperf.history.model import Added, CommitsOf
from opperf.history.store import schema
from opperf.history.store.figures import pack_run
from opperf.history.store.opening import Store
from opperf.history.store.rows import (
    commit_row,
    environment_label,
    facts_row,
    json_text,
    point_row,
)
from opperf.repository import Commit

INSERT: dict[str, Callable[..., Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
"""By dialect, an insert that can leave rows which are there."""

CHUNK = 500
"""Rows of one statement: with twenty columns they stay below SQLite's 32,766 values."""

WHOLE_SHA = 40
"""Characters of a whole commit id; imported files may have its beginning."""


def add_runs(
    store: Store,
    project: str,
    submissions: Iterable[Submission],
    commits_of: CommitsOf = CommitsOf.CODE,
) -> list[Added]:
    """Adds runs to a project, which is made if it is not there, all or none; those that are there
    change nothing. Raises `StoreError` of the database."""
    with store.writing() as connection:
        number = project_number(connection, project, commits_of)
        return [add_run(connection, number, submission) for submission in submissions]


def project_number(connection: Connection, project: str, commits_of: CommitsOf) -> int:
    """Returns the number of a project, which is made if it is not there."""
    row = {"name": project, "commits_of": commits_of.value, "created": time.time()}
    insert_missing(connection, schema.projects, [row])
    find = select(schema.projects.c.id).filter_by(name=project)
    return int(connection.execute(find).scalar_one())


def insert_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Inserts the rows whose keys are not there yet."""
    statement = INSERT[connection.dialect.name](table).on_conflict_do_nothing()
    for begin in range(0, len(rows), CHUNK):
        connection.execute(statement, rows[begin : begin + CHUNK])


def add_run(connection: Connection, project: int, submission: Submission) -> Added:
    """Adds a run to a project."""
    row = {
        "project": project,
        "identity": submission.id,
        "commit_id": commit_number(connection, project, submission.commit),
        "branch": submission.branch,
        "is_dirty": submission.is_dirty,
        "started": submission.started,
        "added": time.time(),
        "source": submission.source,
        "command": submission.command,
        "labels": json_text(dict(submission.labels)),
    }
    insert_missing(connection, schema.runs, [row])
    runs, commits = schema.runs, schema.commits
    find = (
        select(runs.c.id, runs.c.branch, commits.c.sha)
        .join(commits, runs.c.commit_id == commits.c.id)
        .where(runs.c.project == project, runs.c.identity == submission.id)
        # One that adds to the same run waits: it has to see these points when it packs all.
        .with_for_update(of=runs)
    )
    run, branch, sha = connection.execute(find).one()
    used = {entry.key.environment for entry in submission.entries}
    environments = environment_numbers(
        connection, {key: submission.environments.get(key, {}) for key in used}
    )
    ids, begun = _series(connection, project, submission.entries, environments)
    keys = [{"series_id": ids[entry.key], "run_id": run} for entry in submission.entries]
    points = schema.points
    # Null is not counted.
    count = select(func.count(), func.count(points.c.median)).filter_by(run_id=run)
    before = connection.execute(count.select_from(points)).one()
    insert_missing(
        connection,
        points,
        [
            {**key, **point_row(entry.point)}
            for key, entry in zip(keys, submission.entries, strict=True)
        ],
    )
    insert_missing(
        connection,
        schema.samples,
        [
            {**key, "content": np.asarray(entry.point.samples, "<f8").tobytes()}
            for key, entry in zip(keys, submission.entries, strict=True)
            if entry.point.samples
        ],
    )
    after = connection.execute(count.select_from(points)).one()
    new, figures = (now - then for now, then in zip(after, before, strict=True))
    if new:
        pack_run(connection, run)
        # Of a run that was there, whoever keeps a copy sees that there is more of it.
        connection.execute(update(runs).where(runs.c.id == run).values(added=time.time()))
    return Added(sha, branch, figures, new - figures, begun)


def commit_number(connection: Connection, project: int, commit: Commit) -> int:
    """Returns the id of a commit's row, which a file with more of the commit completes."""
    table = schema.commits
    is_whole = len(commit.sha) >= WHOLE_SHA
    # One that an imported file has the beginning of is the same.
    same = [table.c.sha == commit.sha, literal(commit.sha).like(table.c.sha + "%")]
    if not is_whole:
        same.append(table.c.sha.like(commit.sha + "%"))
    find = select(table).where(table.c.project == project, or_(*same))
    found = connection.execute(find).first()
    row = {"project": project, **commit_row(commit)}
    if found is None:
        insert_missing(connection, table, [row])
        found = connection.execute(find).one()
    elif len(found.sha) < len(commit.sha) or (found.position is None and commit.position):
        connection.execute(update(table).where(table.c.id == found.id).values(row))
        events = schema.events
        for column in (events.c.last_good, events.c.first_bad):
            named = (events.c.project == project, column == found.sha)
            connection.execute(update(events).where(*named).values({column: commit.sha}))
    return int(found.id)


def environment_numbers(
    connection: Connection, facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, int]:
    """Returns the ids of environments' rows by their keys; those that are not there are made."""
    table = schema.environments
    rows = [
        {"key": key, "label": environment_label(found), "facts": json_text(found)}
        for key, found in sorted(facts.items())
    ]
    insert_missing(connection, table, rows)
    find = select(table.c.key, table.c.id).where(table.c.key.in_(facts))
    return {row.key: row.id for row in connection.execute(find)}


def _series(
    connection: Connection,
    project: int,
    entries: Sequence[Entry],
    environments: Mapping[str, int],
) -> tuple[dict[SeriesKey, int], int]:
    """Returns the ids of the entries' series, and the number of those that are new."""
    table = schema.series
    names = {number: key for key, number in environments.items()}
    find = select(table.c.case_id, table.c.metric, table.c.environment_id, table.c.id).where(
        table.c.project == project, table.c.environment_id.in_(names)
    )

    def read() -> dict[SeriesKey, int]:
        return {
            SeriesKey(case, metric, names[environment]): number
            for case, metric, environment, number in connection.execute(find)
        }

    found = read()
    missing = {entry.key: entry.facts for entry in entries if entry.key not in found}
    if not missing:
        return found, 0
    rows = [
        {
            "project": project,
            "case_id": key.case,
            "metric": key.metric,
            "environment_id": environments[key.environment],
            **facts_row(facts),
        }
        for key, facts in missing.items()
    ]
    insert_missing(connection, table, rows)
    return read(), sum(key.metric != WHOLE for key in missing)
