"""The tables of a store: their columns are the fields of the types that they have. A change of them
is a version of its own."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    event,
)
from sqlalchemy.types import TypeDecorator

from opperf.decoding import decode_as
from opperf.errors import one_line
from opperf.formats.figures import number_or_null
from opperf.formats.model import SeriesFacts, SeriesKey
from opperf.history.events import Event, StateOf
from opperf.history.model import DamagedError, Project, StoredEnvironment, StoredFailure, StoredRun
from opperf.history.verdicts import SessionVerdict
from opperf.model import Struct
from opperf.repository import Commit

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
    """A text, without characters of code 0, which not every database has."""

    impl, kinds, cache_ok = String, (str,), True

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        return value.replace("\0", "\ufffd") if isinstance(value, str) else value


class OptionalNumber(Checked):
    """A number; null stands for none, and for NaN, which not every database has."""

    impl, kinds, cache_ok = Float, (float, int), True

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        return None if value is None else number_or_null(value)


class Number(OptionalNumber):
    """A number, NaN for null."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        return math.nan if value is None else super().process_result_value(value, dialect)


class Bytes(Checked):
    """Bytes."""

    impl, kinds, cache_ok = LargeBinary, (bytes,), True


class Whole(Checked):
    """An integer."""

    impl, kinds, cache_ok = Integer, (int,), True


class Word(TypeDecorator[Any]):
    """A member of an enumeration, by its value."""

    impl, cache_ok = String, True

    def __init__(self, kind: type[enum.Enum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        return value if value is None else value.value

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        return value if value is None else self.kind(value)


class Json(TypeDecorator[Any]):
    """An object of JSON, as text."""

    impl, cache_ok = String, True

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        return msgspec.json.encode(value).decode()

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        return decode_as(value.encode(), dict[str, Any])


TYPES: dict[Any, type[Any]] = {
    str: Text,
    float: Number,
    float | None: OptionalNumber,
    int: Whole,
    bool: Boolean,
    int | None: Whole,
}


NULLABLE = (float, float | None, int | None)


def _columns(kind: type[Struct], *without: str, only: Sequence[str] = ()) -> list[Column[Any]]:
    """Returns a column for each field of a type, but for some, or for some alone."""
    columns = []
    for field in msgspec.structs.fields(kind):
        of = field.type
        is_word = isinstance(of, type) and issubclass(of, enum.Enum)
        column = Word(of) if is_word else TYPES.get(of, Json)()
        if field.name not in without and field.name in (only or [field.name]):
            columns.append(Column(field.name, column, nullable=of in NULLABLE))
    return columns


def _id() -> Column[Any]:
    return Column("id", Integer, primary_key=True)


def _of(name: str, table: str, is_key: bool = False, is_owned: bool = True) -> Column[Any]:
    """Returns a column of the rows of another table, which an owned row is deleted with."""
    to = ForeignKey(f"{table}.id", ondelete="CASCADE" if is_owned else None)
    return Column(name, to, nullable=False, primary_key=is_key)


def _environment() -> Column[Any]:
    return Column("environment", Text, ForeignKey("environments.key"), nullable=False)


VERSIONS = "alembic_version"
"""Table of the version of the tables, by the name that tools for migrations know."""

version = Table(VERSIONS, METADATA, Column("version_num", String(32), primary_key=True))

projects = Table(
    "projects",
    METADATA,
    _id(),
    *_columns(Project, "id"),
    Column("created", Number, nullable=False),
    UniqueConstraint("name"),
)

commits = Table(
    "commits",
    METADATA,
    _id(),
    _of("project", "projects"),
    *_columns(Commit),
    UniqueConstraint("project", "sha"),
)

environments = Table(
    "environments",
    METADATA,
    Column("key", Text, primary_key=True),
    *_columns(StoredEnvironment, "key"),
)

runs = Table(
    "runs",
    METADATA,
    _id(),
    _of("project", "projects"),
    _of("commit_id", "commits", is_owned=False),
    *_columns(StoredRun, "id", "commit"),
    UniqueConstraint("project", "identity"),
)

series = Table(
    "series",
    METADATA,
    _id(),
    _of("project", "projects"),
    _environment(),
    *_columns(SeriesKey, "environment"),
    *_columns(SeriesFacts),
    UniqueConstraint("project", "case", "metric", "environment"),
)

figures = Table(
    "figures",
    METADATA,
    _of("run", "runs", is_key=True),
    Column("part", Whole, primary_key=True, autoincrement=False),
    Column("content", Bytes, nullable=False),
    Index("figures_by_part", "part", "run"),
)
"""The figures of a run, some series in a value: see `opperf.history.store.figures`."""


@event.listens_for(figures, "after_create")
def _leave_uncompressed(table: Table, connection: Connection, **options: Any) -> None:
    """Doubles hardly become smaller by compression, which takes longer than the rest."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE figures ALTER COLUMN content SET STORAGE EXTERNAL")


failures = Table(
    "failures",
    METADATA,
    _of("series", "series", is_key=True),
    _of("run", "runs", is_key=True),
    *_columns(StoredFailure, "series", "run"),
    Index("failures_by_run", "run"),
)

samples = Table(
    "samples",
    METADATA,
    _of("series", "series", is_key=True),
    _of("run", "runs", is_key=True),
    Column("content", Bytes, nullable=False),
    Index("samples_by_run", "run"),
)
"""Apart from the figures, which are read without them: numbers of 64 bits, little-endian."""

aliases = Table(
    "aliases",
    METADATA,
    _id(),
    _of("project", "projects"),
    *(Column(name, Text, nullable=False) for name in ("old", "new", "who", "why")),
    Column("time", Number, nullable=False),
    UniqueConstraint("project", "old"),
)
"""Cases that go on under another id, as after a rename."""

events = Table(
    "events",
    METADATA,
    _id(),
    _of("project", "projects"),
    Column("series", ForeignKey("series.id", ondelete="CASCADE")),
    _environment(),
    *_columns(Event, "id", "series", "environment"),
    Index("events_of_project", "project", "branch"),
)
"""Changes that were detected: of a series, or of an environment whose series changed together."""

states = Table(
    "states",
    METADATA,
    _id(),
    _of("event", "events"),
    *_columns(StateOf),
    Index("states_of_event", "event"),
)
"""Every state that an event had, by whom, and why."""

VERDICT = (
    *("session", "operator", "inputs", "verdict", "ratio", "low", "high", "blocks", "started"),
    "all_threads",
)
"""Fields of a verdict that are columns as they are."""

verdicts = Table(
    "verdicts",
    METADATA,
    _id(),
    _of("project", "projects"),
    _environment(),
    *_columns(SeriesKey, "environment"),
    _of("a_id", "commits", is_owned=False),
    _of("b_id", "commits", is_owned=False),
    *_columns(SessionVerdict, only=VERDICT),
    Column("added", Number, nullable=False),
    UniqueConstraint("project", "session", "case", "metric"),
)
"""Figures of two commits that a session measured in turn. Of a case, metric and environment, and
not of a series, which has figures: a session has threads and cores of its own."""
