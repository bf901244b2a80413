"""Adds runs and sessions to a store, each whole or not at all, and deletes runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, Table, and_, delete, func, literal, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from opperf.formats.model import OK, WHOLE, Entry, SeriesKey, Submission
from opperf.history.model import Added, CommitsOf, Project
from opperf.history.store import schema
from opperf.history.store.figures import add_figures, read_packed
from opperf.history.store.opening import Store
from opperf.history.verdicts import JudgedSession
from opperf.model import Struct
from opperf.repository import WHOLE_SHA, Commit

INSERT: dict[str, Callable[..., Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
"""By dialect, an insert that can leave rows which are there."""

CHUNK = 500
"""Rows of one statement: with twenty columns they stay below SQLite's 32,766 values."""


def add_runs(
    store: Store,
    project: str,
    submissions: Iterable[Submission],
    commits_of: CommitsOf = CommitsOf.CODE,
) -> list[Added]:
    """Adds runs to a project, which is made if it is not there, all or none; those that are there
    change nothing. Raises `StoreError` of the database."""
    return add_all(store, project, submissions, (), commits_of)[0]


def add_all(
    store: Store,
    project: str,
    submissions: Iterable[Submission],
    sessions: Iterable[JudgedSession],
    commits_of: CommitsOf,
) -> tuple[list[Added], list[int]]:
    """Adds runs and sessions to a project, which is made if it is not there, all or none. Returns
    what was added of each: of a session the number of its verdicts that are new."""
    with store.writing() as connection:
        row = {"name": project, "commits_of": commits_of, "created": time.time()}
        insert_missing(connection, schema.projects, [row])
        find = select(schema.projects.c.id).filter_by(name=project)
        number = int(connection.execute(find).scalar_one())
        runs = [_add_run(connection, number, submission) for submission in submissions]
        return runs, [_add_session(connection, number, session) for session in sessions]


def insert_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Inserts the rows whose keys are not there yet."""
    statement = INSERT[connection.dialect.name](table).on_conflict_do_nothing()
    for begin in range(0, len(rows), CHUNK):
        connection.execute(statement, rows[begin : begin + CHUNK])


def _row(value: Struct, *without: str) -> dict[str, Any]:
    fields = msgspec.structs.asdict(value)
    return {name: field for name, field in fields.items() if name not in without}


def _add_run(connection: Connection, project: int, submission: Submission) -> Added:
    runs, commits = schema.runs, schema.commits
    row = {
        **_row(submission, "id", "commit", "entries", "environments"),
        "project": project,
        "identity": submission.id,
        "commit_id": _commit_number(connection, project, submission.commit),
        "added": time.time(),
    }
    insert_missing(connection, runs, [row])
    find = (
        select(runs.c.id, runs.c.branch, commits.c.sha)
        .join(commits, runs.c.commit_id == commits.c.id)
        .where(runs.c.project == project, runs.c.identity == submission.id)
        # One that adds to the same run waits: it has to see these figures when it packs all.
        .with_for_update(of=runs)
    )
    run, branch, sha = connection.execute(find).one()
    used = {entry.key.environment for entry in submission.entries}
    _add_environments(connection, {key: submission.environments.get(key, {}) for key in used})
    ids, begun = _series(connection, project, submission.entries)
    new = add_figures(
        connection,
        run,
        ((ids[entry.key], entry.point) for entry in submission.entries if entry.point.status == OK),
    )
    failed = _add_failures(connection, run, ids, submission.entries)
    insert_missing(
        connection,
        schema.samples,
        [
            {"series": ids[entry.key], "run": run, "content": _doubles(entry.point.samples)}
            for entry in submission.entries
            if entry.point.samples
        ],
    )
    if new or failed:
        # Of a run that was there, whoever keeps a copy sees that there is more of it.
        connection.execute(update(runs).where(runs.c.id == run).values(added=time.time()))
    return Added(sha, branch, new, failed, begun)


def _doubles(samples: Sequence[float]) -> bytes:
    return np.asarray(samples, "<f8").tobytes()


def _add_failures(
    connection: Connection, run: int, ids: Mapping[SeriesKey, int], entries: Sequence[Entry]
) -> int:
    """Adds the outcomes that are no figures, and returns the number of those that are new."""
    table = schema.failures
    count = select(func.count()).select_from(table).where(table.c.run == run)
    before = connection.execute(count).scalar_one()
    rows = [
        {
            "series": ids[entry.key],
            "run": run,
            "status": entry.point.status,
            "reason": entry.point.reason,
        }
        for entry in entries
        if entry.point.status != OK
    ]
    insert_missing(connection, table, rows)
    return int(connection.execute(count).scalar_one() - before)


def _commit_number(connection: Connection, project: int, commit: Commit) -> int:
    """Returns the id of a commit's row, which a file with more of the commit completes."""
    table = schema.commits
    is_whole = len(commit.sha) >= WHOLE_SHA
    # One that an imported file has the beginning of is the same.
    same = [table.c.sha == commit.sha, literal(commit.sha).like(table.c.sha + "%")]
    if not is_whole:
        same.append(table.c.sha.like(commit.sha + "%"))
    find = select(table).where(table.c.project == project, or_(*same))
    found = connection.execute(find).first()
    row = {"project": project, **_row(commit)}
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


def _add_environments(connection: Connection, facts: Mapping[str, Mapping[str, Any]]) -> None:
    rows = [
        {"key": key, "label": _label(found), "facts": found} for key, found in sorted(facts.items())
    ]
    insert_missing(connection, schema.environments, rows)


def _label(facts: Mapping[str, Any]) -> str:
    gpus = [gpu.get("model", "") for gpu in facts.get("gpus") or ()]
    words = [facts.get("hostname"), facts.get("cpu"), *gpus]
    return ", ".join(str(word) for word in words if word)


def _series(
    connection: Connection, project: int, entries: Sequence[Entry]
) -> tuple[dict[SeriesKey, int], int]:
    """Returns the ids of the entries' series, and the number of those that are new."""
    table = schema.series
    used = {entry.key.environment for entry in entries}
    find = select(*(table.c[name] for name in SeriesKey.__struct_fields__), table.c.id).where(
        table.c.project == project, table.c.environment.in_(used)
    )

    def read() -> dict[SeriesKey, int]:
        return {SeriesKey(*key): number for *key, number in connection.execute(find)}

    found = read()
    missing = {entry.key: entry.facts for entry in entries if entry.key not in found}
    if not missing:
        return found, 0
    rows = [{"project": project, **_row(key), **_row(facts)} for key, facts in missing.items()]
    insert_missing(connection, table, rows)
    return read(), sum(key.metric != WHOLE for key in missing)


def _add_session(connection: Connection, project: int, session: JudgedSession) -> int:
    """Adds the verdicts of a session, and returns the number of those that are new, or of more
    blocks than before: others that are there change nothing."""
    table = schema.verdicts
    _add_environments(connection, session.environments)
    a, b = (_commit_number(connection, project, commit) for commit in (session.a, session.b))
    more = {"project": project, "a_id": a, "b_id": b, "added": time.time()}
    rows = [
        {
            **{name: getattr(verdict, name) for name in schema.VERDICT},
            "case": verdict.id,
            "metric": verdict.metric,
            "environment": verdict.environment,
            **more,
        }
        for verdict in session.verdicts
    ]
    count = select(func.count()).select_from(table).filter_by(project=project, session=session.id)
    before = connection.execute(count).scalar_one()
    insert_missing(connection, table, rows)
    new = int(connection.execute(count).scalar_one() - before)
    if new == len(rows):
        return new
    for row in rows:
        # Of a session that went on.
        key = {name: row[name] for name in ("project", "session", "case", "metric")}
        same = and_(*(table.c[name] == value for name, value in key.items()))
        changed = update(table).where(same, table.c.blocks < row["blocks"]).values(row)
        new += connection.execute(changed).rowcount
    return new


def remove_runs(store: Store, project: Project, runs: Collection[int]) -> None:
    """Deletes runs with their points, and series and commits that have none left. Series that
    events name stay, as do commits that verdicts are of."""
    ids = sorted(runs)
    series, commits, failures = schema.series, schema.commits, schema.failures
    with store.writing() as connection:
        for table in (schema.samples, failures, schema.figures):
            _delete(connection, table, table.c.run, ids)
        _delete(connection, schema.runs, schema.runs.c.id, ids)
        figures, _ = read_packed(connection, schema.runs.c.project == project.id)
        having = set(np.unique(figures["series"]).tolist())
        unused = select(series.c.id).where(
            series.c.project == project.id,
            series.c.id.not_in(select(failures.c.series)),
            series.c.id.not_in(
                select(schema.events.c.series).where(schema.events.c.series.is_not(None))
            ),
        )
        empty = sorted(set(connection.execute(unused).scalars()) - having)
        _delete(connection, series, series.c.id, empty)
        connection.execute(
            delete(commits).where(
                commits.c.project == project.id,
                commits.c.id.not_in(select(schema.runs.c.commit_id)),
                commits.c.id.not_in(select(schema.verdicts.c.a_id)),
                commits.c.id.not_in(select(schema.verdicts.c.b_id)),
            )
        )
    if store.engine.dialect.name == "sqlite":
        # Gives the file's free pages back; PostgreSQL does so by itself.
        with store.outside_transactions() as connection:
            connection.exec_driver_sql("VACUUM")


def _delete(connection: Connection, table: Table, column: Any, values: Sequence[int]) -> None:
    for begin in range(0, len(values), CHUNK):
        connection.execute(delete(table).where(column.in_(values[begin : begin + CHUNK])))
