"""Deletes runs of a store, and what is left of nothing then."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, select

from opperf.history.store import schema
from opperf.history.store.opening import Store
from opperf.history.store.rows import Project

CHUNK = 500
"""Values of one statement, far below what databases allow."""


def remove_runs(store: Store, project: Project, runs: Collection[int]) -> None:
    """Deletes runs with their points, and series and commits that have none left. Series that
    events name stay, as do commits that verdicts are of."""
    ids = sorted(runs)
    points, series, commits = schema.points, schema.series, schema.commits
    with store.writing() as connection:
        for begin in range(0, len(ids), CHUNK):
            chunk = ids[begin : begin + CHUNK]
            for table in (schema.samples, points, schema.run_figures):
                connection.execute(delete(table).where(table.c.run_id.in_(chunk)))
            connection.execute(delete(schema.runs).where(schema.runs.c.id.in_(chunk)))
        connection.execute(
            delete(series).where(
                series.c.project == project.id,
                series.c.id.not_in(select(points.c.series_id)),
                series.c.id.not_in(
                    select(schema.events.c.series_id).where(schema.events.c.series_id.is_not(None))
                ),
            )
        )
        connection.execute(
            delete(commits).where(
                commits.c.project == project.id,
                commits.c.id.not_in(select(schema.runs.c.commit_id)),
                commits.c.id.not_in(select(schema.verdicts.c.a_id)),
                commits.c.id.not_in(select(schema.verdicts.c.b_id)),
            )
        )
    if store.dialect == "sqlite":
        # Gives the file's free pages back; PostgreSQL does so by itself.
        with store.outside_transactions() as connection:
            connection.exec_driver_sql("VACUUM")
