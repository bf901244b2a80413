"""The figures of a run as one value beside its points: a check of a whole history reads a value for
each run, and not a row for each point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, delete, func, select

from opperf.history.store import schema
from opperf.history.store.rows import DamagedError

Array = np.ndarray[Any, Any]

FIGURE = np.dtype([("series", "<i8"), ("median", "<f8"), ("low", "<f8"), ("high", "<f8")])
"""A figure in `run_figures.content`; bounds are NaN if unknown."""


class Columns(NamedTuple):
    """Figures of some series, sorted by series and run: an element of each array for each."""

    series: Array
    run: Array
    median: Array
    low: Array
    high: Array


def pack_run(connection: Connection, run: int) -> None:
    """Writes the figures of a run, from its points."""
    points, packed = schema.points, schema.run_figures
    query = (
        select(points.c.series_id, points.c.median, points.c.low, points.c.high)
        .where(points.c.run_id == run, points.c.median.is_not(None))
        .order_by(points.c.series_id)
    )
    rows = [
        tuple(np.nan if value is None else value for value in row)
        for row in connection.execute(query)
    ]
    connection.execute(delete(packed).where(packed.c.run_id == run))
    content = np.array(rows, FIGURE).tobytes()
    connection.execute(packed.insert().values(run_id=run, content=content))


def read_packed(connection: Connection, project: int) -> Columns:
    """Returns the figures of a project. Raises the driver's errors."""
    packed, runs = schema.run_figures, schema.runs
    query = (
        select(packed.c.run_id, packed.c.content)
        .join(runs, packed.c.run_id == runs.c.id)
        .where(runs.c.project == project)
        .order_by(packed.c.run_id)
    )
    rows = READERS[connection.dialect.name](connection, query)
    found = np.frombuffer(b"".join(content for _, content in rows), FIGURE)
    last = connection.execute(select(func.max(schema.series.c.id))).scalar() or 0
    if found.size and not 0 < found["series"].min() <= found["series"].max() <= last:
        raise DamagedError(f"figures of a series that is not there; the last is {last}")
    sizes = [len(content) // FIGURE.itemsize for _, content in rows]
    run = np.repeat(np.array([number for number, _ in rows], np.int64), sizes)
    order = _sort(found["series"])
    figures = (found[name][order] for name in ("median", "low", "high"))
    return finite(Columns(found["series"][order], run[order], *figures))


def finite(columns: Columns) -> Columns:
    """Returns the figures whose median is a number, with bounds that are one or unknown: what
    opperf did not write may be infinite."""
    found = columns
    if not np.isfinite(columns.median).all():
        kept = np.isfinite(columns.median)
        found = Columns(*(column[kept] for column in columns))
    bounds = (np.where(np.isinf(bound), np.nan, bound) for bound in (found.low, found.high))
    return Columns(*found[:3], *bounds)


def _sort(series: Array) -> Array:
    """Returns the order of series, in which that of runs is kept."""
    most = int(series.max(initial=0))
    # Numbers of 16 bits are sorted by their digits, in a tenth of the time.
    if most >= 1 << 16:
        ids = np.unique(series)
        codes = np.zeros(most + 1, np.uint16 if len(ids) <= 1 << 16 else np.int64)
        codes[ids] = np.arange(len(ids))
        return np.argsort(codes[series], kind="stable")
    return np.argsort(series.astype(np.uint16), kind="stable")


def _sqlite(connection: Connection, query: Select[Any]) -> list[tuple[int, bytes]]:
    return [(row.run_id, row.content) for row in connection.execute(query)]


def _postgresql(connection: Connection, query: Select[Any]) -> list[tuple[int, bytes]]:
    compiled = query.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    driver: Any = connection.connection.driver_connection
    # Binary: as text, bytes are twice as many, and decoded.
    with driver.cursor(binary=True) as cursor:
        rows: list[tuple[int, bytes]] = cursor.execute(str(compiled)).fetchall()
    return rows


READERS: dict[str, Callable[[Connection, Select[Any]], list[tuple[int, bytes]]]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
}
