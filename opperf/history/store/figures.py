"""The figures of a run as values of some hundred: a check of a whole history reads a few values for
each run, and not a row for each figure; one series is in one value of each run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, delete, func, select

from opperf.formats.model import Point
from opperf.history.model import DamagedError
from opperf.history.store import schema

Array = np.ndarray[Any, Any]

BOUNDS = ("median", "low", "high", "q25", "q75")

FIGURE = np.dtype([("series", "<i8"), ("n", "<i8"), *((name, "<f8") for name in BOUNDS)])
"""A figure in `figures.content`; what is unknown is NaN."""

PART = 256
"""Series that have their figures in one value of a run: 14 KB, of which a page of one series reads
one for each run, and a check of five thousand series twenty."""

FEW = 8
"""Parts up to which they are read by their numbers; of more, all are read."""


class Columns(NamedTuple):
    """Figures of some series, sorted by series and run: an element of each array for each."""

    series: Array
    run: Array
    median: Array
    low: Array
    high: Array


def add_figures(connection: Connection, run: int, points: Iterable[tuple[int, Point]]) -> int:
    """Adds points to a run, by the numbers of their series, but for those of series that the run
    has figures of; returns the number of those that are new."""
    known, _ = read_packed(connection, schema.figures.c.run == run)
    there = set(known["series"].tolist())
    rows = {
        series: (series, point.n, *(getattr(point, name) for name in BOUNDS))
        for series, point in points
        if series not in there
    }
    if rows:
        pack(connection, run, np.concatenate([known, np.array(list(rows.values()), FIGURE)]))
    return len(rows)


def pack(connection: Connection, run: int, found: Array) -> None:
    """Writes the figures of a run, in the place of those that are there."""
    table = schema.figures
    found = found[np.argsort(found["series"], kind="stable")]
    parts, begins = np.unique(found["series"] // PART, return_index=True)
    connection.execute(delete(table).where(table.c.run == run))
    connection.execute(
        table.insert(),
        [
            {"run": run, "part": int(part), "content": some.tobytes()}
            for part, some in zip(parts, np.split(found, begins[1:]), strict=True)
        ],
    )


def read_packed(connection: Connection, *where: ColumnElement[bool]) -> tuple[Array, Array]:
    """Returns the figures of some runs, in the order of runs and series, and the run of each.
    Raises the driver's errors."""
    table = schema.figures
    query = (
        select(table.c.run, table.c.content)
        .join(schema.runs, table.c.run == schema.runs.c.id)
        .where(*where)
        .order_by(table.c.run, table.c.part)
    )
    rows = connection.execute(query).all()
    found = np.frombuffer(b"".join(row.content for row in rows), FIGURE)
    sizes = [len(row.content) // FIGURE.itemsize for row in rows]
    return found, np.repeat(np.array([row.run for row in rows], np.int64), sizes)


def read_columns(
    connection: Connection, project: int, series: Collection[int] | None = None
) -> Columns:
    """Returns the figures of some series, or of all of a project. Raises the driver's errors."""
    where: list[ColumnElement[bool]] = [schema.runs.c.project == project]
    parts = {number // PART for number in series or ()}
    if series is not None and len(parts) <= FEW:
        where.append(schema.figures.c.part.in_(parts))
    found, run = read_packed(connection, *where)
    last = connection.execute(select(func.max(schema.series.c.id))).scalar() or 0
    if found.size and not 0 < found["series"].min() <= found["series"].max() <= last:
        raise DamagedError(f"figures of a series that is not there; the last is {last}")
    if series is not None:
        chosen = np.isin(found["series"], list(series))
        found, run = found[chosen], run[chosen]
    # That of runs is kept. Numbers of 16 bits are sorted by their digits, in half of the time.
    order = np.argsort(found["series"].astype(np.uint16 if last < 1 << 16 else int), kind="stable")
    return finite(
        Columns(
            found["series"][order],
            run[order],
            *(found[name][order] for name in ("median", "low", "high")),
        )
    )


def finite(columns: Columns) -> Columns:
    """Returns the figures whose median is a number, with bounds that are one or unknown: what
    opperf did not write may be infinite."""
    found = columns
    if not np.isfinite(columns.median).all():
        kept = np.isfinite(columns.median)
        found = Columns(*(column[kept] for column in columns))
    bounds = (np.where(np.isinf(bound), np.nan, bound) for bound in (found.low, found.high))
    return Columns(*found[:3], *bounds)


def points_of(found: Array, samples: Sequence[Sequence[float]]) -> list[Point]:
    """Returns figures as points, each with its samples."""
    rows = zip(found.tolist(), samples, strict=True)
    return [
        Point(n=n, samples=tuple(drawn), **dict(zip(BOUNDS, values, strict=True)))
        for (_, n, *values), drawn in rows
    ]
