"""Reads the numbers of many rows straight into an array: rows as objects of SQLAlchemy take longer
than all else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select

Array = np.ndarray[Any, Any]

SIGNATURE, TRAILER = 19, 2
"""Bytes before and after the rows of PostgreSQL's binary copy: signature, flags and the length of
an extension, which is 0; and a row of -1 columns."""


def read_numbers(connection: Connection, query: Select[Any]) -> Array:
    """Returns the rows of a query whose columns are all numbers, as an array of doubles of shape
    (rows, columns); NULL is NaN. Raises the driver's errors."""
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
