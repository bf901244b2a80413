"""Adds verdicts of sessions to a store, and reads them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, and_, func, select, update

from opperf.comparison.statistics.data import Verdict
from opperf.formats.model import SeriesKey, Submission
from opperf.history.events import Event, Update
from opperf.history.model import Added, CommitsOf
from opperf.history.store import schema
from opperf.history.store.adding import (
    add_run,
    commit_number,
    environment_numbers,
    insert_missing,
    project_number,
)
from opperf.history.store.aliases import read_aliases
from opperf.history.store.events import update_events
from opperf.history.store.opening import Store
from opperf.history.store.reading import (
    newest_series,
    read_commits,
    read_environments,
    read_series,
)
from opperf.history.store.rows import (
    DamagedError,
    Project,
    commit_of,
    number_or_null,
    without_zeros,
)
from opperf.history.verdicts import (
    NOTHING,
    Evidence,
    JudgedSession,
    SessionVerdict,
    by_figure,
    decide_events,
)
from opperf.repository import Commit

FIGURES = ("ratio", "low", "high")

TEXTS = ("session", "name", "inputs", "all_threads")


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
        number = project_number(connection, project, commits_of)
        runs = [add_run(connection, number, submission) for submission in submissions]
        return runs, [_add_session(connection, number, session) for session in sessions]


def _add_session(connection: Connection, project: int, session: JudgedSession) -> int:
    """Adds the verdicts of a session, and returns the number of those that are new, or of more
    blocks than before: others that are there change nothing."""
    table = schema.verdicts
    environments = environment_numbers(connection, session.environments)
    a, b = (commit_number(connection, project, commit) for commit in (session.a, session.b))
    rows = [
        {
            **_row(verdict),
            "project": project,
            "environment_id": environments[verdict.key.environment],
            "a_id": a,
            "b_id": b,
            "added": time.time(),
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
        key = {name: row[name] for name in ("project", "session", "case_id", "metric")}
        same = and_(*(table.c[name] == value for name, value in key.items()))
        changed = update(table).where(same, table.c.blocks < row["blocks"]).values(row)
        new += connection.execute(changed).rowcount
    return new


def _row(verdict: SessionVerdict) -> dict[str, Any]:
    return {
        **{name: without_zeros(getattr(verdict, name)) for name in TEXTS},
        **{name: number_or_null(getattr(verdict, name)) for name in FIGURES},
        "case_id": verdict.key.case,
        "metric": verdict.key.metric,
        "verdict": verdict.verdict.value,
        "blocks": verdict.blocks,
        "started": verdict.started,
    }


def read_verdicts(store: Store, project: Project) -> list[SessionVerdict]:
    """Returns the verdicts of a project, those of a case with an alias under the id that goes
    on."""
    verdicts, environments = schema.verdicts, schema.environments
    names = read_aliases(store, project)
    commits = schema.commits
    query = (
        select(verdicts, environments.c.key)
        .join(environments, verdicts.c.environment_id == environments.c.id)
        .where(verdicts.c.project == project.id)
        .order_by(verdicts.c.id)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
        # Not by their numbers, of which a query takes so many only.
        of = select(commits).where(commits.c.project == project.id)
        known = {row.id: commit_of(row) for row in connection.execute(of)}
        if not {id for row in rows for id in (row.a_id, row.b_id)} <= known.keys():
            raise DamagedError("a verdict is of a commit that is not there")
        return [
            _verdict(row, names.get(row.case_id, row.case_id), known[row.a_id], known[row.b_id])
            for row in rows
        ]


def _verdict(row: Any, case: str, a: Commit, b: Commit) -> SessionVerdict:
    figures = {name: getattr(row, name) for name in FIGURES}
    values: dict[str, Any] = {
        **{name: getattr(row, name) for name in TEXTS},
        **{name: math.nan if value is None else value for name, value in figures.items()},
    }
    return SessionVerdict(
        **values,
        key=SeriesKey(case, row.metric, row.key),
        a=a,
        b=b,
        verdict=Verdict(row.verdict),
        blocks=row.blocks,
        started=row.started,
    )


def read_evidence(store: Store, project: Project) -> Evidence:
    """Returns the verdicts of a project with what they are compared with; without any,
    nothing."""
    verdicts = read_verdicts(store, project)
    if not verdicts:
        return NOTHING
    series = newest_series(read_series(store, project))
    environments = read_environments(store)
    return Evidence(
        by_figure(verdicts),
        {number: stored.key for number, stored in series.items()},
        read_commits(store, project),
        {key: found.facts for key, found in environments.items()},
    )


def decide_by_verdicts(store: Store, project: Project, branch: str = "") -> list[Update]:
    """Sets the states of the events of a branch, or of all, that verdicts decide, and returns
    what changed."""
    evidence = read_evidence(store, project)
    updates: list[Update] = []

    def decide(events: list[Event]) -> list[Update]:
        updates.extend(decide_events(events, evidence))
        return updates

    if evidence.verdicts:
        update_events(store, project, branch, decide)
    return updates
