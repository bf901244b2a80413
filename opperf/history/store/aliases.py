"""Cases that go on under another id, as after a rename."""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select

from opperf.errors import UsageError
from opperf.history.store.opening import Store
from opperf.history.store.rows import Project
from opperf.history.store.schema import aliases


def user_name() -> str:
    """Returns the name of who changes a store; `unknown` if the system has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def read_aliases(store: Store, project: Project) -> dict[str, str]:
    """Returns, by the id of a case that has another now, that one, the last of a chain."""
    with store.reading() as connection:
        direct = _direct(connection, project)
    return {old: _last(old, direct) for old in direct}


def _direct(connection: Connection, project: Project) -> dict[str, str]:
    query = select(aliases.c.old, aliases.c.new).where(aliases.c.project == project.id)
    return {row.old: row.new for row in connection.execute(query)}


def _last(name: str, direct: Mapping[str, str]) -> str:
    while name in direct:
        name = direct[name]
    return name


def add_alias(store: Store, project: Project, old: str, new: str, why: str) -> None:
    """Lets the points of one case go on as another's. Raises `UsageError` for a cycle."""
    row = {
        "project": project.id,
        "old": old,
        "new": new,
        "who": user_name(),
        "why": why,
        "time": time.time(),
    }
    with store.writing() as connection:
        others = _direct(connection, project)
        # The one that is replaced.
        others.pop(old, None)
        if _last(new, others) == old:
            raise UsageError(f"{old} cannot go on as {new}, which goes on as {old}")
        connection.execute(delete(aliases).filter_by(project=project.id, old=old))
        connection.execute(insert(aliases), row)
