"""A case of one file, in the form in which it is joined with one of another file."""

from __future__ import annotations

from typing import Any

from opperf.model import Struct


class Figure(Struct, frozen=True):
    """What a file tells of one metric of a case."""

    unit: str
    median: float
    mean: float
    half_width: float | None = None
    """Of the median's interval; None where the file has none."""
    samples: list[float] = []
    """Empty where the file has none."""
    unsound: bool = False
    """Whether a figure that should be the same on every run may not be."""
    caveat: str = ""
    """What is odd about it, as one line."""


class Entry(Struct, frozen=True):
    """One case of one file."""

    operator: str
    inputs: str
    shown: str
    """Operator and inputs as results by operator show them: all that those can be joined by."""
    pattern: str = ""
    """The operator as a command takes it; empty where none can name it."""
    id: str = ""
    """Of the case; empty where the file does not tell."""
    call: str = ""
    """Of target and arguments alone; empty where the file does not tell."""
    category: str = ""
    settings: dict[str, Any] = {}
    """Those that are part of the id."""
    effort: dict[str, Any] = {}
    """Those that are not."""
    reason: str = ""
    """How the case ended, where it was not measured."""
    figures: dict[str, Figure] = {}
    """By metric; empty where the case was not measured."""
    absent: dict[str, str] = {}
    """Metrics that were asked for and not measured, each with the reason."""
