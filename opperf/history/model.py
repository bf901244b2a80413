"""The vocabulary of a history: projects, and the environments, series and runs of a store."""

from __future__ import annotations

import enum
import math
from typing import Any

from opperf.formats.model import SeriesFacts, SeriesKey
from opperf.model import Struct
from opperf.repository import Commit


class DamagedError(ValueError):
    """A value of a store that opperf did not write."""


class CommitsOf(str, enum.Enum):
    """The thing that a project's commits are of."""

    CODE = "code"
    """The user's own code, beside frameworks: another version of a framework is another
    environment."""
    FRAMEWORK = "framework"
    """The framework itself: its version and build features change with the commit."""


class Project(Struct, frozen=True):
    """A project of a store."""

    id: int
    name: str
    commits_of: CommitsOf


class StoredEnvironment(Struct, frozen=True):
    """An environment of a store; its facts are those that opperf or another tool recorded."""

    key: str
    """Comparability key."""
    label: str
    """Host, processor and GPUs; empty if unknown."""
    facts: dict[str, Any]


class StoredSeries(Struct, frozen=True):
    """A series of a store."""

    id: int
    key: SeriesKey
    facts: SeriesFacts


class StoredRun(Struct, frozen=True):
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

    @property
    def time(self) -> float:
        """When its commit was committed, else when it started."""
        return self.started if math.isnan(self.commit.time) else self.commit.time


class StoredFailure(Struct, frozen=True):
    """A case that a run has no figure of."""

    series: int
    run: int
    status: str
    reason: str


class Added(Struct, frozen=True):
    """Changes by adding a run."""

    sha: str
    branch: str
    """Commit and branch that the run is at: of one that was there, as it was added first."""
    figures: int
    failures: int
    """Outcomes without a figure."""
    series: int
    """Number of series that it began."""
