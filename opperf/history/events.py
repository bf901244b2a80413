"""Events of a history: changes that were detected, and what became of them."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from opperf.model import Struct


class State(str, enum.Enum):
    """State of an event."""

    NEW = "new"
    CONFIRMED = "confirmed"
    """Measured again, of both commits in turn, and found."""
    BLESSED = "blessed"
    """Wanted, or accepted."""
    FIXED = "fixed"
    """A later commit took it back."""
    NOISE = "noise"
    """Measured again and not found, or not found any more with later points."""


OPEN = (State.NEW, State.CONFIRMED)
"""States of an event that somebody has to look at."""


class Kind(str, enum.Enum):
    """The thing that changed."""

    SERIES = "series"
    MACHINE = "machine"
    """Most series of one environment at once: the machine, and no commit."""


class Event(Struct, frozen=True):
    """A change of a series, or of a machine, between two runs of a branch."""

    kind: Kind
    branch: str
    environment: str
    """Comparability key."""
    last_good: str
    first_bad: str
    """Commits between which it changed: the last before, and the first with the new level."""
    series: int | None = None
    """None of a machine."""
    id: int = 0
    """0 before it is stored."""
    before: float = math.nan
    after: float = math.nan
    """Levels, in the series' unit."""
    ratio: float = math.nan
    """The new level, as a multiple of the old one."""
    low: float = math.nan
    high: float = math.nan
    """95 % confidence interval of the ratio."""
    p: float = math.nan
    method: str = ""
    state: State = State.NEW
    count: int = 1
    """Number of series that changed together."""
    created: float = 0.0
    updated: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def is_loss(self, lower_is_better: bool) -> bool:
        """Whether the new level is the worse one."""
        return (self.ratio > 1) == lower_is_better


class Update(NamedTuple):
    """An event to store: a new one, or one with other figures or another state."""

    event: Event
    why: str = ""
    """Of another state."""


NEAR = 3
"""Runs by which later points may move a change: detection places a step of the size of the scatter
that exactly."""

BACK = 0.3
"""Share of a change within which a later level is the old one again."""


def reconcile(
    known: Sequence[Event],
    found: Sequence[Event],
    order: Mapping[str, int],
    levels: Mapping[int, float],
) -> list[Update]:
    """Returns what is to be stored after a detection. A change that is known keeps its state, and
    takes its new figures; a new event that is not found any more is noise, and one whose series is
    back at its old level is fixed. `order` has the place of each commit in the branch, `levels` the
    latest level of each series. The result depends on the events and the points alone, and a second
    detection of the same points changes nothing."""
    left = list(known)
    updates = []
    for event in found:
        same = _same(event, left, order)
        if same is None:
            state, why = _later_state(event, levels)
            updates.append(Update(msgspec.structs.replace(event, state=state), why))
            continue
        left.remove(same)
        moved = msgspec.structs.replace(
            event,
            id=same.id,
            state=same.state,
            created=same.created,
            updated=same.updated,
        )
        state, why = _later_state(moved, levels)
        if state is not moved.state or _form(moved) != _form(same):
            updates.append(Update(msgspec.structs.replace(moved, state=state), why))
    updates += [
        Update(msgspec.structs.replace(event, state=State.NOISE), "not found with later points")
        for event in left
        if event.state is State.NEW
    ]
    return updates


def _same(event: Event, known: Iterable[Event], order: Mapping[str, int]) -> Event | None:
    """Returns the known event that a found one is, the nearest; None if it is new."""

    def distance(other: Event) -> float:
        is_same = (
            other.kind is event.kind
            and (other.series, other.environment) == (event.series, event.environment)
            and (other.kind is Kind.MACHINE or (other.ratio > 1) == (event.ratio > 1))
        )
        places = (order.get(event.first_bad), order.get(other.first_bad))
        if not is_same or places[0] is None or places[1] is None:
            return math.inf
        return abs(places[0] - places[1])

    nearest = min(known, key=distance, default=None)
    return nearest if nearest is not None and distance(nearest) <= NEAR else None


def _later_state(event: Event, levels: Mapping[int, float]) -> tuple[State, str]:
    """Returns the state of an event after its series' later points, and why it is another one."""
    level = levels.get(event.series) if event.series is not None else None
    if level is None or not event.is_open:
        return event.state, ""
    change = event.after - event.before
    if change and abs(level - event.before) <= BACK * abs(change):
        return State.FIXED, "the series is back at its old level"
    return event.state, ""


def _form(event: Event) -> bytes:
    """Returns an event in a form in which unknown figures, NaN, are equal."""
    return msgspec.json.encode(event)
