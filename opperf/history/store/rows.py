"""Rows of the tables, and what they are of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.decoding import decode_as
from opperf.formats.model import Point, SeriesFacts, SeriesKey
from opperf.history.model import CommitsOf
from opperf.model import MetricKind
from opperf.repository import Commit


class DamagedError(ValueError):
    """A value of a store that opperf did not write."""


class Project(NamedTuple):
    """A project of a store."""

    id: int
    name: str
    commits_of: CommitsOf


class StoredSeries(NamedTuple):
    """A series of a store."""

    id: int
    key: SeriesKey
    facts: SeriesFacts


class StoredRun(NamedTuple):
    """A run of a store, without its points."""

    id: int
    identity: str
    commit: Commit
    branch: str
    is_dirty: bool
    started: float
    added: float
    source: str
    command: str
    labels: dict[str, str]


FIGURES = ("status", "reason", "n", "median", "low", "high", "q25", "q75")
"""Columns of a point."""


def number_or_null(value: float) -> float | None:
    """Returns a number; None of NaN and infinity, which not every database has."""
    return value if math.isfinite(value) else None


def without_zeros(text: str) -> str:
    """Returns a text without characters of code 0, which not every database has."""
    return text.replace("\0", "\ufffd")


def point_row(point: Point) -> dict[str, Any]:
    """Returns the columns of a point but for its keys."""
    values = {name: getattr(point, name) for name in FIGURES}
    numbers = {
        name: number_or_null(value) if isinstance(value, float) else value
        for name, value in values.items()
    }
    return {**numbers, "reason": without_zeros(point.reason)}


def point_of(row: Any, samples: Sequence[float]) -> Point:
    """Returns the point of a row."""
    found = {name: getattr(row, name) for name in FIGURES}
    values = {name: math.nan if value is None else value for name, value in found.items()}
    return msgspec.convert({**values, "samples": tuple(samples)}, Point)


FACTS = tuple(field.name for field in msgspec.structs.fields(SeriesFacts))


def facts_row(facts: SeriesFacts) -> dict[str, Any]:
    """Returns the columns of a series' facts."""
    values = {name: getattr(facts, name) for name in FACTS}
    texts = {name: without_zeros(value) for name, value in values.items() if isinstance(value, str)}
    return {**values, **texts, "kind": facts.kind.value}


def facts_of(row: Any) -> SeriesFacts:
    """Returns the facts of a series' row."""
    values = {name: getattr(row, name) for name in FACTS}
    return SeriesFacts(**{**values, "kind": MetricKind(row.kind)})


COMMIT = ("sha", "parent", "position", "time", "author", "subject")


def commit_row(commit: Commit) -> dict[str, Any]:
    """Returns the columns of a commit but for its project."""
    values = {name: getattr(commit, name) for name in COMMIT}
    return {**values, "time": number_or_null(commit.time)}


def commit_of(row: Any) -> Commit:
    """Returns the commit of a row."""
    values = {name: getattr(row, name) for name in COMMIT}
    return Commit(**{**values, "time": math.nan if row.time is None else row.time})


def run_of(row: Any) -> StoredRun:
    """Returns the run of a row with its commit's columns."""
    return StoredRun(
        row.id,
        row.identity,
        commit_of(row),
        row.branch,
        row.is_dirty,
        row.started,
        row.added,
        row.source,
        row.command,
        decode_as(row.labels.encode(), dict[str, str]),
    )


def run_order(runs: Sequence[StoredRun]) -> Callable[[StoredRun], tuple[Any, ...]]:
    """Returns a key that sorts runs by their commits: by their number of ancestors if all have one,
    else by their times, and runs of one commit by when they started."""
    by_position = all(run.commit.position is not None for run in runs)

    def key(run: StoredRun) -> tuple[Any, ...]:
        commit = run.commit
        when = run.started if math.isnan(commit.time) else commit.time
        return (commit.position if by_position else 0, when, commit.sha, run.started, run.id)

    return key


def environment_label(facts: Mapping[str, Any]) -> str:
    """Returns an environment in a few words: host, processor, GPUs."""
    gpus = [gpu.get("model", "") for gpu in facts.get("gpus") or ()]
    words = [facts.get("hostname"), facts.get("cpu"), *gpus]
    return ", ".join(str(word) for word in words if word)


def json_text(value: Any) -> str:
    """Returns a value as JSON."""
    return msgspec.json.encode(value).decode()
