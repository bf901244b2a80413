"""Opens a store, and makes its tables."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import OpperfError, UsageError, one_line
from opperf.extras import load_extra
from opperf.folders import data_folder
from opperf.history.model import DamagedError
from opperf.reading import check_database

VARIABLE = "OPPERF_HISTORY"
"""Environment variable with the URL or the path of the store."""

URL = re.compile(r"[a-z][a-z0-9+]*://")

DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "sqlite": "sqlite"}
"""By the scheme of a URL, that with the driver."""

WAIT_S = 60.0
"""Seconds that a writer waits for another one: far longer than any takes to add a run."""

CONNECT_S = 10
"""Seconds within which a server has to answer."""

LOCK = 0x6F707065
"""Number of PostgreSQL's advisory lock under which tables are made: `oppe`."""

VERSION = "0002"
"""That of the tables of `schema`."""


class StoreError(OpperfError):
    """A store that cannot be opened, read or written."""


def default_store() -> str:
    """Returns the store that is used if none is named: that in `OPPERF_HISTORY`, else a file in the
    data folder."""
    return os.environ.get(VARIABLE) or str(data_folder() / "history.sqlite")


def display(store: str) -> str:
    """Returns the store's name for messages, without a password."""
    if not URL.match(store):
        return store
    # After "//" and before the last "@" of the host's part.
    return re.sub(r"(//[^/:@]*):[^/]*@", r"\1:***@", store)


def make_engine(store: str, must_exist: bool = False) -> Any:
    """Returns SQLAlchemy's engine of a URL or of a path of SQLite. Raises `UsageError` for another
    database, and for a file that is not there but has to be."""
    sqlalchemy = load_extra("sqlalchemy")
    if not URL.match(store):
        return _sqlite(sqlalchemy, Path(store).expanduser(), must_exist)
    scheme, _, rest = store.partition("://")
    driver = DRIVERS.get(scheme.partition("+")[0])
    if driver is None:
        raise UsageError(
            f"{display(store)}: a store is a path of SQLite, or a URL postgresql://USER@HOST/NAME"
        )
    if driver == "sqlite":
        return _sqlite(sqlalchemy, Path("/" + rest.lstrip("/")), must_exist)
    load_extra("psycopg")
    try:
        url = sqlalchemy.engine.make_url(f"{driver}://{rest}")
        return sqlalchemy.create_engine(url, connect_args={"connect_timeout": CONNECT_S})
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:
        raise UsageError(f"{display(store)} is no URL of a database: {error}") from error


def _sqlite(sqlalchemy: Any, path: Path, must_exist: bool) -> Any:
    if must_exist and not path.exists():
        raise _missing(str(path))
    if path.is_dir():
        raise UsageError(f"{path} is a folder; a store is a file in it, as {path}/history.sqlite")
    try:
        if path.exists():
            check_database(path)
        elif not must_exist:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        verb = "opened" if path.exists() else "made"
        reason = f"{error.strerror}{_advice(str(error.strerror))}"
        raise StoreError(f"{path} cannot be {verb}: {reason}") from error
    url = sqlalchemy.engine.URL.create("sqlite", database=str(path))
    engine = sqlalchemy.create_engine(url, connect_args={"timeout": WAIT_S})

    def configure(connection: sqlite3.Connection, record: object) -> None:
        # Transactions begin below, and not before the first write as Python's module has it.
        connection.isolation_level = None
        # A reader and a writer do not wait for each other, and a kill loses no commit.
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("its schema is no text in UTF-8") from error
        connection.execute("PRAGMA foreign_keys=ON")

    def begin(connection: Any) -> None:
        mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
        if mode:
            connection.exec_driver_sql(f"BEGIN {mode}")

    sqlalchemy.event.listen(engine, "connect", configure)
    sqlalchemy.event.listen(engine, "begin", begin)
    return engine


def _missing(store: str) -> UsageError:
    return UsageError(f"{store}: no store is there; `opperf history add` of a run makes one")


class Store:
    """A history in a database, closed at the end of a `with`."""

    def __init__(self, name: str, must_exist: bool = False) -> None:
        self.name = name
        self.engine = make_engine(name, must_exist)
        make_tables(self.engine, name, must_exist)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A connection whose changes are made together, or not at all."""
        engine = self.engine.execution_options(sqlite_begin="IMMEDIATE")
        with said_of(self.name), engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A connection that sees one state of the store."""
        # What reads without SQLAlchemy has the driver's own errors, and what is read may be no
        # value of its type: SQLite keeps any in any column.
        others = self.engine.dialect.dbapi.Error, ValueError, msgspec.MsgspecError
        with said_of(self.name, *others), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def outside_transactions(self) -> Iterator[Any]:
        """A connection on which statements run that a transaction must not have."""
        with said_of(self.name), self.engine.connect() as connection:
            yield connection.execution_options(sqlite_begin="")


@contextmanager
def said_of(store: str, *others: type[Exception]) -> Iterator[None]:
    """Raises a database's errors, and others that are given, as one line of the store."""
    sqlalchemy = load_extra("sqlalchemy")
    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, DamagedError, *others) as error:
        cause = getattr(error, "orig", None) or error
        is_damaged = isinstance(error, (ValueError, msgspec.MsgspecError))
        damaged = "the store is damaged: " if is_damaged else ""
        raise StoreError(
            f"{display(store)}: {damaged}{one_line(str(cause))}{_advice(str(cause))}"
        ) from error


ADVICE = {
    "disk is full": "; free space there, nothing was changed",
    "file is not a database": "; name another file with --store",
    "readonly database": "; make it writable, or name another with --store",
    "connection refused": "; start the server, or correct the URL",
    "connection failed": "; start the server, or correct the URL",
    "locked": "; another process is writing for long, try again",
}
"""By a part of a database's message."""


def _advice(message: str) -> str:
    lower = message.lower()
    return next((advice for part, advice in ADVICE.items() if part in lower), "")


def make_tables(engine: Any, store: str, must_exist: bool) -> None:
    """Makes the tables, if there are none, under a lock. Raises `StoreError` for those of another
    opperf, which it leaves, and `UsageError` without tables that have to be."""
    from opperf.history.store.schema import METADATA, version

    # A URL may have a host that no name server takes.
    with said_of(store, UnicodeError):
        # One that needs nothing does not wait for writers.
        with engine.connect() as connection:
            found = _version(connection)
        _check_version(store, found)
        if found is not None:
            return
        if must_exist:
            raise _missing(display(store))
        locking = engine.execution_options(sqlite_begin="IMMEDIATE")
        with locking.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
            if _version(connection) is None:
                METADATA.create_all(connection)
                connection.execute(version.insert().values(version_num=VERSION))


def _check_version(store: str, version: str | None) -> None:
    """Raises `StoreError` for the version of another opperf's tables, and for none of any."""
    if version in (None, VERSION):
        return
    if not re.fullmatch("[0-9]{4}", version) or version == "0000":
        raise StoreError(
            f"{display(store)} is damaged: {one_line(repr(version), 40)} is no version of its "
            "tables; restore it from a copy"
        )
    is_newer = version > VERSION
    raise StoreError(
        f"{display(store)} is of {'a newer' if is_newer else 'an older'} opperf (version {version} "
        f"of its tables, this one knows {VERSION}); "
        f"{'upgrade opperf' if is_newer else 'add its runs to a new store'}, nothing was changed"
    )


def _version(connection: Any) -> str | None:
    """Returns the version of the tables; None without tables."""
    from opperf.history.store.schema import VERSIONS

    if not load_extra("sqlalchemy").inspect(connection).has_table(VERSIONS):
        return None
    found = connection.exec_driver_sql(f"SELECT version_num FROM {VERSIONS}").scalar()
    return None if found is None else str(found)
