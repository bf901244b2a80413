"""The tables of a store. A change of them is a migration beside it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

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
from sqlalchemy.types import TypeDecorator

from opperf.errors import one_line
from opperf.history.store.rows import DamagedError

VERSION = "0001"
"""The newest migration: that of these tables."""

METADATA = MetaData()


class Checked(TypeDecorator[Any]):
    """A type whose values are of it, which SQLite does not see to. Reading another one raises
    `DamagedError`."""

    kinds: ClassVar[tuple[type, ...]]

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        if value is None or (isinstance(value, self.kinds) and value not in NOT_FINITE):
            return value
        raise DamagedError(f"{one_line(repr(value), 40)} is no value of a column {self.impl}")


NOT_FINITE = (math.inf, -math.inf)


class Text(Checked):
    """A text."""

    impl, kinds, cache_ok = String, (str,), True


class Number(Checked):
    """A finite number."""

    impl, kinds, cache_ok = Float, (float, int), True


class Bytes(Checked):
    """Bytes."""

    impl, kinds, cache_ok = LargeBinary, (bytes,), True


class Whole(Checked):
    """An integer."""

    impl, kinds, cache_ok = Integer, (int,), True


WITHOUT_FIGURE = text("status != 'ok'")
"""Points that are outcomes without a figure. In these words, and without a parameter, a query finds
them by their index; among five million points that are read it takes eight seconds."""


def _columns(kind: Any, *names: str, nullable: bool = True) -> list[Column[Any]]:
    return [Column(name, kind, nullable=nullable) for name in names]


def _of_project() -> list[Column[Any]]:
    """Returns the columns of what is a project's."""
    project = ForeignKey("projects.id", ondelete="CASCADE")
    return [Column("id", Integer, primary_key=True), Column("project", project, nullable=False)]


projects = Table(
    "projects",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("commits_of", Text, nullable=False),
    Column("created", Number, nullable=False),
)

commits = Table(
    "commits",
    METADATA,
    *_of_project(),
    *_columns(Text, "sha", "parent", nullable=False),
    Column("position", Whole),
    Column("time", Number),
    *_columns(Text, "author", "subject", nullable=False),
    UniqueConstraint("project", "sha"),
)

environments = Table(
    "environments",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    *_columns(Text, "label", "facts", nullable=False),
)

runs = Table(
    "runs",
    METADATA,
    *_of_project(),
    Column("identity", Text, nullable=False),
    Column("commit_id", ForeignKey("commits.id"), nullable=False),
    Column("branch", Text, nullable=False),
    Column("is_dirty", Boolean, nullable=False),
    *_columns(Number, "started", "added", nullable=False),
    *_columns(Text, "source", "command", "labels", nullable=False),
    UniqueConstraint("project", "identity"),
)

series = Table(
    "series",
    METADATA,
    *_of_project(),
    *_columns(Text, "case_id", "metric", nullable=False),
    Column("environment_id", ForeignKey("environments.id"), nullable=False),
    *_columns(Text, "name", "unit", "kind", nullable=False),
    Column("lower_is_better", Boolean, nullable=False),
    *_columns(Number, "relative_tolerance", "absolute_tolerance", nullable=False),
    *_columns(Text, "inputs", "settings", "category", "framework", "command", nullable=False),
    UniqueConstraint("project", "case_id", "metric", "environment_id"),
)

points = Table(
    "points",
    METADATA,
    Column("series_id", ForeignKey("series.id", ondelete="CASCADE"), primary_key=True),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    *_columns(Text, "status", "reason", nullable=False),
    Column("n", Whole, nullable=False),
    *_columns(Number, "median", "low", "high", "q25", "q75"),
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
    Column("content", Bytes, nullable=False),
    Index("samples_by_run", "run_id"),
)
"""Apart from the points, which are read without them: numbers of 64 bits, little-endian."""

run_figures = Table(
    "run_figures",
    METADATA,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("content", Bytes, nullable=False),
)
"""The figures of a run's points once more, as one value: see `opperf.history.store.figures`."""

aliases = Table(
    "aliases",
    METADATA,
    *_of_project(),
    *_columns(Text, "old", "new", "who", "why", nullable=False),
    Column("time", Number, nullable=False),
    UniqueConstraint("project", "old"),
)
"""Cases that go on under another id, as after a rename."""

events = Table(
    "events",
    METADATA,
    *_of_project(),
    Column("branch", Text, nullable=False),
    Column("series_id", ForeignKey("series.id", ondelete="CASCADE")),
    Column("environment_id", ForeignKey("environments.id")),
    *_columns(Text, "kind", "last_good", "first_bad", nullable=False),
    *_columns(Number, "before", "after", "ratio", "low", "high", "p"),
    *_columns(Text, "method", "state", nullable=False),
    Column("count", Whole, nullable=False),
    Column("settings", Text, nullable=False, server_default=""),
    *_columns(Number, "created", "updated", nullable=False),
    Index("events_of_project", "project", "branch"),
)
"""Changes that were detected: of a series, or of an environment whose series changed together."""

states = Table(
    "states",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("event_id", ForeignKey("events.id", ondelete="CASCADE"), nullable=False),
    *_columns(Text, "state", "who", "why", nullable=False),
    Column("time", Number, nullable=False),
    Index("states_of_event", "event_id"),
)
"""Every state that an event had, by whom, and why."""

verdicts = Table(
    "verdicts",
    METADATA,
    *_of_project(),
    *_columns(Text, "session", "case_id", "metric", nullable=False),
    Column("environment_id", ForeignKey("environments.id"), nullable=False),
    *_columns(Text, "name", "inputs", nullable=False),
    Column("a_id", ForeignKey("commits.id"), nullable=False),
    Column("b_id", ForeignKey("commits.id"), nullable=False),
    Column("verdict", Text, nullable=False),
    *_columns(Number, "ratio", "low", "high"),
    Column("blocks", Whole, nullable=False),
    Column("all_threads", Text, nullable=False),
    *_columns(Number, "started", "added", nullable=False),
    UniqueConstraint("project", "session", "case_id", "metric"),
)
"""Figures of two commits that a session measured in turn. Of a case, metric and environment, and
not of a series, which has points: a session has threads and cores of its own."""
