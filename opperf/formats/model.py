"""The neutral form of results that are read and written in formats of other tools: the figures of a
run at a commit, by case, metric and environment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from opperf.model import MetricKind, Struct
from opperf.repository import Commit

WHOLE = ""
"""Metric of the series of a case's outcomes that are no figures: failures, crashes, timeouts."""


OK = "ok"
"""Status of a figure."""


class SeriesKey(Struct, frozen=True):
    """Identity of a series."""

    case: str
    """Id of the case; of an imported benchmark a hash of its name and parameters."""
    metric: str
    environment: str
    """Comparability key: points of other environments are another series."""


class SeriesFacts(Struct, frozen=True):
    """Facts of a series that are shown."""

    name: str
    """Operator, or name of the benchmark."""
    unit: str
    kind: MetricKind
    lower_is_better: bool = True
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    inputs: str = ""
    settings: str = ""
    category: str = ""
    framework: str = ""
    command: str = ""
    """Measures the case again; empty if no command is known."""


class Point(Struct, frozen=True):
    """The figure of one run."""

    status: str = OK
    reason: str = ""
    n: int = 0
    median: float = math.nan
    """NaN without a figure."""
    low: float = math.nan
    high: float = math.nan
    """95 % confidence interval of the median; NaN if unknown."""
    q25: float = math.nan
    q75: float = math.nan
    samples: tuple[float, ...] = ()


class Entry(Struct, frozen=True):
    """A point, with its series."""

    key: SeriesKey
    facts: SeriesFacts
    point: Point


class Submission(Struct, frozen=True):
    """A run's figures, added together or not at all."""

    id: str
    """Identity of the run: its copies have the same, and are added once."""
    commit: Commit
    branch: str
    started: float
    """Seconds since 1970."""
    entries: tuple[Entry, ...]
    is_dirty: bool = False
    """Whether the tree had changes that no commit has."""
    source: str = "opperf"
    """The tool that measured."""
    command: str = ""
    labels: Mapping[str, str] = {}
    environments: Mapping[str, Mapping[str, Any]] = {}
    """Facts of each environment, by its key."""

    @property
    def figures(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.point.status == OK]

    @property
    def outcomes(self) -> list[Entry]:
        """Of the cases and metrics without figures."""
        return [entry for entry in self.entries if entry.point.status != OK]
