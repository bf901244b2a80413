"""The figures of a case over commits, as detection reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opperf.model import Metric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Texts = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Series:
    """The points of a metric of a case on one machine, in commit order; made by `series_of`."""

    key: str
    """Of the case and the metric, the same on every machine."""
    environment: str
    """Comparability key: points of different ones are never joined."""
    metric: Metric
    positions: Ints
    """Topological order of the commits; several points may be of one."""
    values: Floats
    """Medians, in the metric's unit."""
    half_widths: Floats
    """Of the 95 % confidence interval of each median, in the metric's unit; NaN if unknown."""
    runs: Texts
    times: Floats
    """Seconds since 1970; NaN if unknown."""


def series_of(
    key: str,
    metric: Metric,
    positions: ArrayLike,
    values: ArrayLike,
    *,
    environment: str = "",
    half_widths: ArrayLike = np.nan,
    runs: ArrayLike | None = None,
    times: ArrayLike = np.nan,
) -> Series:
    """Returns a series of arrays, or of scalars for all points alike, whose points are in commit
    order whatever order they came in. Without runs, each commit is one. Points without a finite
    value are omitted, and so are those of a noisy metric that are not above 0, as changes are
    ratios. Arrays that need no change are not copied. Raises `ValueError` for arrays of different
    lengths."""
    places = np.asarray(positions, dtype=np.int64).ravel()
    columns: list[NDArray[Any]] = [
        places,
        np.asarray(values, dtype=np.float64),
        np.asarray(half_widths, dtype=np.float64),
        np.asarray(places if runs is None else runs).astype(np.str_),
        np.asarray(times, dtype=np.float64),
    ]
    for column in columns:
        if column.ndim and column.shape != places.shape:
            raise ValueError(f"series {key!r}: {column.size} figures of {places.size} points")
    points = [np.broadcast_to(column, places.shape) for column in columns]
    usable = np.isfinite(points[1])
    if not metric.is_steady:
        usable &= np.where(usable, points[1], 0.0) > 0
    # Most series are whole and in order: copies of some million points would take a second.
    kept = points if usable.all() else [column[usable] for column in points]
    if np.all(kept[0][1:] > kept[0][:-1]):
        return Series(key, environment, metric, *kept)
    known, found, _, names, when = kept
    # Time alone may be equal or unknown; all of these together leave no order to arrival.
    order = np.lexsort((found, names, when, known))
    return Series(key, environment, metric, *(column[order] for column in kept))


AT_ONCE = 500
"""Arrays whose medians are taken together: some megabytes."""


@dataclass(frozen=True, eq=False)
class Strand:
    """The points of a noisy series in one environment: one for each commit, as logarithms."""

    series: int
    """Index of the series; -1 for what all series of the environment have in common."""
    key: str
    """Of the series; empty of what all have in common."""
    environment: str
    positions: Ints
    logs: Floats
    times: Floats
    floor: float = 0.0
    """Standard deviation that the points have at least, by their own intervals."""


def one_per_commit(series: Series) -> tuple[Ints, Floats]:
    """Returns the positions of the commits, and the median of the values of each."""
    first, values = first_and_medians(series.positions, series.values)
    return series.positions[first], values


def first_and_medians(positions: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Returns the index of each commit's first point, and the median of its points' values."""
    is_first = np.concatenate([[True], positions[1:] != positions[:-1]])[: positions.size]
    first = np.flatnonzero(is_first)
    if first.size == positions.size:
        return first, values
    return first, np.array([np.median(part) for part in np.split(values, first[1:])])


def medians(parts: Sequence[Floats]) -> Floats:
    """Returns the median of each array, 0 of an empty one. Those of a length are an array of two
    dimensions: for some thousand, calls for each take most of the time."""
    found = np.zeros(len(parts))
    by_size: dict[int, list[int]] = {}
    for index, part in enumerate(parts):
        by_size.setdefault(part.size, []).append(index)
    by_size.pop(0, None)
    for indices in by_size.values():
        for begin in range(0, len(indices), AT_ONCE):
            some = indices[begin : begin + AT_ONCE]
            found[some] = np.median(np.stack([parts[index] for index in some]), axis=1)
    return found
