"""The tables of a store. A change of them is a migration beside it."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    text,
)

VERSION = "0005"
"""The newest migration: that of these tables."""

METADATA = MetaData()

WITHOUT_FIGURE = text("status != 'ok'")
"""Points that are outcomes without a figure. In these words, and without a parameter, a query finds
them by their index; among five million points that are read it takes eight seconds."""

projects = Table(
    "projects",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("commits_of", String, nullable=False),
    Column("created", Float, nullable=False),
)


def _project() -> Column[int]:
    return Column("project", ForeignKey("projects.id", ondelete="CASCADE"), nullable=False)


commits = Table(
    "commits",
    METADATA,
    Column("id", Integer, primary_key=True),
    _project(),
    Column("sha", String, nullable=False),
    Column("parent", String, nullable=False),
    Column("position", Integer),
    Column("time", Float),
    Column("author", String, nullable=False),
    Column("subject", String, nullable=False),
    UniqueConstraint("project", "sha"),
)

environments = Table(
    "environments",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("key", String, nullable=False, unique=True),
    Column("label", String, nullable=False),
    Column("facts", String, nullable=False),
)

runs = Table(
    "runs",
    METADATA,
    Column("id", Integer, primary_key=True),
    _project(),
    Column("identity", String, nullable=False),
    Column("commit_id", ForeignKey("commits.id"), nullable=False),
    Column("branch", String, nullable=False),
    Column("is_dirty", Boolean, nullable=False),
    Column("started", Float, nullable=False),
    Column("added", Float, nullable=False),
    Column("source", String, nullable=False),
    Column("command", String, nullable=False),
    Column("labels", String, nullable=False),
    UniqueConstraint("project", "identity"),
)

series = Table(
    "series",
    METADATA,
    Column("id", Integer, primary_key=True),
    _project(),
    Column("case_id", String, nullable=False),
    Column("metric", String, nullable=False),
    Column("environment_id", ForeignKey("environments.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("unit", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("lower_is_better", Boolean, nullable=False),
    Column("relative_tolerance", Float, nullable=False),
    Column("absolute_tolerance", Float, nullable=False),
    Column("inputs", String, nullable=False),
    Column("settings", String, nullable=False),
    Column("category", String, nullable=False),
    Column("framework", String, nullable=False),
    Column("command", String, nullable=False),
    UniqueConstraint("project", "case_id", "metric", "environment_id"),
)

points = Table(
    "points",
    METADATA,
    Column("series_id", ForeignKey("series.id", ondelete="CASCADE"), primary_key=True),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("status", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("n", Integer, nullable=False),
    Column("median", Float),
    Column("low", Float),
    Column("high", Float),
    Column("q25", Float),
    Column("q75", Float),
    Index("points_by_run", "run_id"),
    Index(
        "points_without_figure",
        "run_id",
        sqlite_where=WITHOUT_FIGURE,
        postgresql_where=WITHOUT_FIGURE,
    ),
    # Reading series whole is what a check does: their points lie together.
    sqlite_with_rowid=False,
)

samples = Table(
    "samples",
    METADATA,
    Column("series_id", ForeignKey("series.id", ondelete="CASCADE"), primary_key=True),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Index("samples_by_run", "run_id"),
)
"""Apart from the points, which are read without them: numbers of 64 bits, little-endian."""

run_figures = Table(
    "run_figures",
    METADATA,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
"""The figures of a run's points once more, as one value: see `opperf.history.store.figures`."""

aliases = Table(
    "aliases",
    METADATA,
    Column("id", Integer, primary_key=True),
    _project(),
    Column("old", String, nullable=False),
    Column("new", String, nullable=False),
    Column("who", String, nullable=False),
    Column("why", String, nullable=False),
    Column("time", Float, nullable=False),
    UniqueConstraint("project", "old"),
)
"""Cases that go on under another id, as after a rename."""

events = Table(
    "events",
    METADATA,
    Column("id", Integer, primary_key=True),
    _project(),
    Column("branch", String, nullable=False),
    Column("series_id", ForeignKey("series.id", ondelete="CASCADE")),
    Column("environment_id", ForeignKey("environments.id")),
    Column("kind", String, nullable=False),
    Column("last_good", String, nullable=False),
    Column("first_bad", String, nullable=False),
    Column("before", Float),
    Column("after", Float),
    Column("ratio", Float),
    Column("low", Float),
    Column("high", Float),
    Column("p", Float),
    Column("method", String, nullable=False),
    Column("state", String, nullable=False),
    Column("count", Integer, nullable=False),
    Column("settings", String, nullable=False, server_default=""),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Index("events_of_project", "project", "branch"),
)
"""Changes that were detected: of a series, or of an environment whose series changed together."""

states = Table(
    "states",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("event_id", ForeignKey("events.id", ondelete="CASCADE"), nullable=False),
    Column("state", String, nullable=False),
    Column("who", String, nullable=False),
    Column("why", String, nullable=False),
    Column("time", Float, nullable=False),
    Index("states_of_event", "event_id"),
)
"""Every state that an event had, by whom, and why."""

verdicts = Table(
    "verdicts",
    METADATA,
    Column("id", Integer, primary_key=True),
    _project(),
    Column("session", String, nullable=False),
    Column("case_id", String, nullable=False),
    Column("metric", String, nullable=False),
    Column("environment_id", ForeignKey("environments.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("inputs", String, nullable=False),
    Column("a_id", ForeignKey("commits.id"), nullable=False),
    Column("b_id", ForeignKey("commits.id"), nullable=False),
    Column("verdict", String, nullable=False),
    Column("ratio", Float),
    Column("low", Float),
    Column("high", Float),
    Column("blocks", Integer, nullable=False),
    Column("all_threads", String, nullable=False),
    Column("started", Float, nullable=False),
    Column("added", Float, nullable=False),
    UniqueConstraint("project", "session", "case_id", "metric"),
)
"""Figures of two commits that a session measured in turn. Of a case, metric and environment, and
not of a series, which has points: a session has threads and cores of its own."""
