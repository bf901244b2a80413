"""Changes that later ones take back.

A change is over once a change in the other direction was found whose new level is the old one
again: closing asks for the evidence that opening asked for, and a few points do neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

BACK = 0.3
"""Share of a change within which a later level is the old one again."""


class Move(NamedTuple):
    """A change of a level."""

    position: int
    """Of the first commit of the new level."""
    before: float
    after: float


def taken_back(moves: Sequence[Move]) -> list[int | None]:
    """Returns, for each change of a series in one environment, the position of the later one that
    took it back; None while it stands. They are in the order of their positions."""
    return [_taken_back(move, moves[index + 1 :]) for index, move in enumerate(moves)]


def _taken_back(move: Move, later: Sequence[Move]) -> int | None:
    size = move.after - move.before
    for other in later:
        is_opposite = (other.after - other.before) * size < 0
        left = (other.after - move.before) * (1 if size > 0 else -1)
        if is_opposite and left <= BACK * abs(size):
            return other.position
    return None
