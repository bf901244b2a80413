"""How the results of two runs of the same calls compare."""

from __future__ import annotations

from typing import Final, Literal

from opperf.model.base import Struct

SameResults = Literal["same", "different", "not compared"]

DIFFERENT: Final = "different"
"""The outcome that is a finding."""


class Tolerance(Struct, frozen=True):
    """The largest error of an element of B: `rtol` of A's element, and `atol` beside it. None: by
    the precision of the results."""

    rtol: float | None = None
    atol: float | None = None


class Difference(Struct, frozen=True, omit_defaults=False):
    """A place in which the results of B differ from those of A."""

    place: str
    text: str
    """The difference in one line, without the place."""
    index: tuple[int, ...] | None = None
    """Of the element with the largest error, or of the first that is a finite number in one arm
    only; None where no element differs."""
    absolute: float | None = None
    """Largest absolute error; None without two numbers to subtract."""
    relative: float | None = None
    """That error as a share of A's element; None likewise, and of zero."""
    share: float = 1.0
    """Share of the compared elements that differ."""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class Check(Struct, frozen=True):
    """How the results of a case in A and of its partner in B compare."""

    outcome: SameResults
    note: str = ""
    """Why they are not compared, or what is not; empty where all of it is."""
    differences: tuple[Difference, ...] = ()
    """The first ones: outputs, then what a call wrote to, then gradients."""
    count: int = 0
    """Number of places that differ."""

    @property
    def line(self) -> str:
        """The first difference, and how many there are besides, as one line; or the note."""
        first = next(map(str, self.differences), "")
        more = f"; {self.count - 1} more" if self.count > 1 else ""
        return f"{first}{more}" if first else self.note
