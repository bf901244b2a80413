"""The vocabulary of a history: what its commits are of, and what adding a run changed."""

from __future__ import annotations

import enum

from opperf.model import Struct


class CommitsOf(str, enum.Enum):
    """The thing that a project's commits are of."""

    CODE = "code"
    """The user's own code, beside frameworks: another version of a framework is another
    environment."""
    FRAMEWORK = "framework"
    """The framework itself: its version and build features change with the commit."""


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
