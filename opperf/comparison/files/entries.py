"""Cases of files in the form in which they are joined."""

from __future__ import annotations

from typing import Any

from opperf.model import Struct
from opperf.results.figures import Measurement


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
    place: int | None = None
    """Place among the planned cases of its file; None where the file has no plan."""
    selector: str = ""
    """Id by which a command chooses the case; empty where the file has none, nor one beside it."""
    call: str = ""
    category: str = ""
    count: int | None = None
    point: str = ""
    settings: dict[str, Any] = {}
    differing: str = ""
    """Those in which cases of the file differ that have the same operator and inputs, as text."""
    effort: dict[str, Any] = {}
    reason: str = ""
    figures: dict[str, Measurement] = {}
    absent: dict[str, str] = {}
