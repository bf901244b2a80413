"""The batch of cases that a profiled process reads from a file, and the lines that it writes."""

from __future__ import annotations

from opperf.instruments.wrapped.program import Calls
from opperf.model import CaseLine, Pass, Struct


class Batch(Struct, frozen=True):
    """The calls that a process makes."""

    cases: tuple[CaseLine, ...]
    """Cases, each with the id that its ranges and lines have."""
    passes: tuple[Pass, ...]
    """Passes that are profiled."""
    warmup: int
    """Calls of each pass before those that are profiled."""
    runs: int | None
    """Profiled calls of each pass; None for as many as take `PROFILED_S`."""
    lines: str
    """Path of the file to which lines are appended."""
    control: tuple[str, str] | None = None
    """Paths of pipes for commands to the program and for its answers."""
    needs_ranges: bool = False
    """Whether the program finds calls by their ranges."""
    empty_spans: int = 0
    """Number of spans to make without a call, before the cases."""


class Begun(Struct, frozen=True, tag="begun"):
    """A case whose calls begin."""

    id: str


class Made(Struct, frozen=True, tag="made"):
    """A case whose calls were made."""

    id: str
    passes: dict[Pass, Calls]
    refusals: dict[Pass, str] = {}
    """Why a pass has no calls."""


Line = Begun | Made
