"""A case of one file, in the form in which it is joined with a case of another file."""

from __future__ import annotations

from typing import Any

from opperf.model import Struct


class Figure(Struct, frozen=True):
    """One metric of a case in a file."""

    unit: str
    median: float
    mean: float
    half_width: float | None = None
    """Half-width of the median's interval; None where the file has none."""
    samples: list[float] = []
    """Empty where the file has none."""
    unsound: str = ""
    """Why a figure that should be the same on every run may vary."""
    unreliable: bool = False
    """Whether its samples drift or have two levels."""
    caveat: str = ""
    """A qualification, as one line."""


class Entry(Struct, frozen=True):
    """One case of one file."""

    operator: str
    inputs: str
    shown: str
    """Operator and inputs in the form of results by operator, which have no other key."""
    details: str = ""
    """Details of the tensors besides their shapes, which not every writer of such results has."""
    pattern: str = ""
    """The operator as a command takes it; empty where none can name it."""
    id: str = ""
    """Id of the case; empty where the file has none."""
    place: int | None = None
    """Place among the planned cases of its file; None where the file has no plan."""
    selector: str = ""
    """Id by which a command chooses the case: from the file or from beside it. Empty where neither
    has one."""
    call: str = ""
    """Id of target and arguments alone; empty where the file has none."""
    category: str = ""
    count: int | None = None
    """How often its source saw the case; None where the file does not have it."""
    point: str = ""
    """Values of swept variables, as text."""
    settings: dict[str, Any] = {}
    """Settings that are part of the id."""
    differing: str = ""
    """Those in which cases of the file differ that have the same operator and inputs, as text."""
    effort: dict[str, Any] = {}
    """Settings that are not part of the id."""
    reason: str = ""
    """How the case ended, where it was not measured."""
    figures: dict[str, Figure] = {}
    """By metric; empty where the case was not measured."""
    absent: dict[str, str] = {}
    """Requested metrics that were not measured, each with the reason."""
