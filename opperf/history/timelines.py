"""Series of a store as lines: the figures of a branch in the order of its commits.

Values that a metric cannot have, by its kind: they are no figures.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from opperf.formats.model import SeriesFacts, SeriesKey
from opperf.history.model import Project, StoredRun, StoredSeries
from opperf.history.store.figures import Columns
from opperf.history.store.opening import Store
from opperf.history.store.reading import (
    newest_series,
    read_failures,
    read_figures,
    read_runs,
    read_series,
)
from opperf.model import MetricKind

Array = np.ndarray[Any, Any]


class Timeline(NamedTuple):
    """The figures of one case, metric and environment: an element of each array for each run."""

    id: int
    """That of its newest series: a renamed case has several."""
    key: SeriesKey
    facts: SeriesFacts
    run: Array
    """Indices of the runs among those of the history."""
    median: Array
    low: Array
    high: Array

    @property
    def title(self) -> str:
        """The case and metric: `softmax (x: (2,)): forward`."""
        inputs = f" ({self.facts.inputs})" if self.facts.inputs else ""
        return f"{self.facts.name}{inputs}: {self.key.metric}"


class Outcome(NamedTuple):
    """A run of a case without a figure: of all of its metrics if its key is of none."""

    key: SeriesKey
    facts: SeriesFacts
    run: int
    """Index of the run among those of the history."""
    status: str
    reason: str


class History(NamedTuple):
    """Runs in the order of their commits, and the timelines that have a figure of one."""

    runs: Sequence[StoredRun]
    timelines: Sequence[Timeline]


def read_history(
    store: Store,
    project: Project,
    chosen: Collection[int] | None = None,
    branch: str = "",
    with_dirty: bool = False,
) -> History:
    """Returns the runs of a branch, or of all, and the timelines of the chosen series, or of all.
    Series are joined that are of the same case, metric and environment. Runs of trees with
    uncommitted changes are omitted unless wanted."""
    runs = [
        run
        for run in read_runs(store, project)
        if (not branch or run.branch == branch) and (with_dirty or not run.is_dirty)
    ]
    series = read_series(store, project)
    if chosen is not None:
        keys = {found.key for found in series if found.id in chosen}
        series = [found for found in series if found.key in keys]
    ids = None if chosen is None else [found.id for found in series]
    return join_history(runs, series, read_figures(store, project, ids))


def read_outcomes(store: Store, project: Project, history: History) -> list[Outcome]:
    """Returns the outcomes without a figure of a history's runs."""
    series = {stored.id: stored for stored in read_series(store, project)}
    at = {run.id: index for index, run in enumerate(history.runs)}
    return [
        Outcome(
            series[failure.series].key,
            series[failure.series].facts,
            at[failure.run],
            failure.status,
            failure.reason,
        )
        for failure in read_failures(store, project)
        if failure.run in at and failure.series in series
    ]


def join_history(
    runs: Sequence[StoredRun], series: Sequence[StoredSeries], columns: Columns
) -> History:
    """Returns the timelines of series that were read, of the runs alone that are given."""
    newest = newest_series(series)
    parts = _split(columns, {old: stored.id for old, stored in newest.items()}, runs)
    timelines = [
        Timeline(
            stored.id,
            stored.key,
            stored.facts,
            where,
            columns.median[rows],
            columns.low[rows],
            columns.high[rows],
        )
        for stored in {stored.id: stored for stored in newest.values()}.values()
        for where, rows in [parts.get(stored.id, (_EMPTY, _EMPTY))]
        if len(rows)
    ]
    return History(runs, timelines)


_EMPTY = np.empty(0, dtype=np.int64)


def _split(
    columns: Columns, joined: Mapping[int, int], runs: Sequence[StoredRun]
) -> dict[int, tuple[Array, Array]]:
    """Returns, by the series that others are joined to, the indices of the runs that have a figure,
    in order, and the rows of these figures."""
    where = _lookup(columns.run, {run.id: index for index, run in enumerate(runs)})
    line = _lookup(columns.series, joined)
    kept = np.flatnonzero((where >= 0) & (line >= 0))
    # Of a renamed case that a run has under both ids, the new one counts, which sorts first.
    is_old = columns.series[kept] != line[kept]
    place = (line[kept] * len(runs) + where[kept]) * 2 + is_old
    # Figures without aliases are sorted, which takes long with some million.
    is_sorted = np.all(place[1:] > place[:-1])
    order = kept if is_sorted else kept[np.argsort(place, kind="stable")]
    pairs = np.stack((line[order], where[order]))
    order = order[np.insert((np.diff(pairs) != 0).any(axis=0), 0, True)[: len(order)]]
    lines = line[order]
    begins = np.flatnonzero(np.insert(np.diff(lines) != 0, 0, True)[: len(lines)])
    groups = np.split(order, begins[1:])
    return {int(line[rows[0]]): (where[rows], rows) for rows in groups if len(rows)}


def _lookup(ids: Array, values: Mapping[int, int]) -> Array:
    """Returns the value of each id; -1 of one that has none."""
    table = np.full(max([*values, int(ids.max(initial=0))]) + 1, -1)
    table[list(values)] = list(values.values())
    return np.asarray(table[ids])


ABOVE_ZERO = frozenset({MetricKind.KERNEL, MetricKind.WALL})
"""Kinds of metrics that cannot be 0: something takes time."""

FROM_ZERO = frozenset({MetricKind.MEMORY, MetricKind.COUNT})
"""Kinds of metrics that can be 0, and no less."""


RETURNS = 2
"""Times that values above 0 came back after others, from which on these are usual: a count of rare
things has both. Once, something was broken and repaired."""


def possible(facts: SeriesFacts, values: Array) -> Array:
    """Returns which values a metric can have, by its kind. Of others, as those of another tool,
    values of 0 or less can be if the first one is, or if there were such between others."""
    finite: Array = np.isfinite(values)
    if facts.kind in FROM_ZERO:
        return finite & (values >= 0)
    above = values[finite] > 0
    returns = int((~above[:-1] & above[1:]).sum())
    if facts.kind in ABOVE_ZERO or (above.size and above[0] and returns < RETURNS):
        return finite & (values > 0)
    return finite
