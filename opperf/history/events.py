"""Events of a history: changes that were detected, and what became of them."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from opperf.history.detection.findings import EventKind, Moved
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
    GONE = "gone"
    """Of a machine that was replaced."""


DETECTION = "opperf history check"
"""Who sets a state by later points."""

OPEN = (State.NEW, State.CONFIRMED)
"""States of an event that somebody has to look at."""


class Kind(str, enum.Enum):
    """The thing that changed."""

    SERIES = "series"
    MACHINE = "machine"
    """Most series of one environment at once, as a machine moves them."""
    STOPPED = "stopped"
    """A series without figures: it fails, is missing, or has values that cannot be."""


class Event(Moved, frozen=True):
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
    state: State = State.NEW
    created: float = 0.0
    updated: float = 0.0
    by: str = ""
    """Who set its state."""
    settings: str = ""
    """Of the check that found it last, as far as they matter to its metric; empty in stores of
    earlier versions."""

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def may_be_code(self) -> bool:
        """Whether a commit may have done it: a common move of nearly all series is a machine's,
        until both commits are measured in turn and differ."""
        is_part = self.method == EventKind.MANY.value
        return self.kind is not Kind.MACHINE or is_part or self.state is State.CONFIRMED

    def is_loss(self, lower_is_better: bool) -> bool:
        """Whether the new level is the worse one, or there is none."""
        return self.kind is Kind.STOPPED or self.is_rise == lower_is_better


class StateOf(Struct, frozen=True):
    """A state that an event had from a time on."""

    state: State
    who: str
    why: str
    time: float


class Update(NamedTuple):
    """An event to store: new, or with other figures or another state. Of a change that the
    points show, the state is by the points alone: new while it stands, fixed once they took it back
    with as much evidence as it was found with."""

    event: Event
    why: str = ""
    """Of another state; of a new event what is known beside the figures."""
    who: str = DETECTION
    """Who sets it."""


NEAR = 16
"""Runs by which later points may move a change: detection places a step of the size of the scatter
that exactly."""


def reconcile(
    known: Sequence[Event],
    found: Sequence[Update],
    order: Mapping[str, int],
    over_budget: Sequence[Update] = (),
    settings: Collection[str] = ("",),
    gone: Collection[tuple[int | None, str]] = (),
) -> list[Update]:
    """Returns what is to be stored after a detection. A change that is known takes its new figures
    and the state that the points give it, so that one that was closed by points and is found again
    is open again; what somebody decided stays, and so does a confirmation while the change stands.
    A new event that is not found any more is noise until it is found again. One that was found
    under other `settings` than those of the detection is not noise: these may be unable to find it.
    `order` has the place of each commit in the branch; changes `over_budget` are no new events;
    `gone` has the series and environment of what has no runs any more, as others took its place. An
    event whose commit has no run any more stays as it is. A second detection of the same points
    changes nothing."""
    changes = [*found, *over_budget]
    same = _same([change.event for change in changes], known, order)
    updates = []
    for index, change in enumerate(changes):
        before = known[same[index]] if index in same else None
        is_over_budget = index >= len(found)
        if before is None and is_over_budget:
            continue
        state, why = _state(before, change, is_over_budget, gone)
        event = msgspec.structs.replace(change.event, state=state)
        if before is not None:
            kept = {name: getattr(before, name) for name in ("id", "created", "updated", "by")}
            event = msgspec.structs.replace(event, **kept)
        if before is None or _form(event) != _form(before):
            updates.append(Update(event, why))
    matched = set(same.values())
    for index, event in enumerate(known):
        if index in matched or event.first_bad not in order or not event.is_open:
            continue
        if (event.series, event.environment) in gone:
            gone_now = msgspec.structs.replace(event, state=State.GONE)
            updates.append(Update(gone_now, REPLACED))
        elif event.state is State.NEW and event.settings in settings:
            noise = msgspec.structs.replace(event, state=State.NOISE)
            updates.append(Update(noise, "not found with later points"))
    return updates


REPLACED = "its machine was replaced by another one"


def _state(
    before: Event | None,
    change: Update,
    is_over_budget: bool,
    gone: Collection[tuple[int | None, str]],
) -> tuple[State, str]:
    state, why = change.event.state, change.why
    if state is State.NEW and (change.event.series, change.event.environment) in gone:
        state, why = State.GONE, REPLACED
    if before is None:
        return state, why
    is_decided = before.state is State.BLESSED or (
        before.state is State.NOISE and (before.by != DETECTION or is_over_budget)
    )
    if is_decided or (before.state is State.CONFIRMED and state is State.NEW):
        return before.state, ""
    if state is State.NEW and before.state is not State.NEW:
        return state, "found again with later points"
    return state, why


def _same(
    found: Sequence[Event], known: Sequence[Event], order: Mapping[str, int]
) -> dict[int, int]:
    """Returns, by the index of a found event, that of the known one that it is: the nearest pairs
    first, so that a change beside a known one does not take its state."""
    candidates: dict[tuple[object, ...], list[int]] = {}
    for index, event in enumerate(known):
        if event.first_bad in order:
            candidates.setdefault(_identity(event), []).append(index)
    pairs = sorted(
        (abs(order[event.first_bad] - order[known[other].first_bad]), index, other)
        for index, event in enumerate(found)
        for other in candidates.get(_identity(event), ())
    )
    same: dict[int, int] = {}
    taken: set[int] = set()
    for distance, index, other in pairs:
        if distance <= NEAR and index not in same and other not in taken:
            same[index] = other
            taken.add(other)
    return same


def _identity(event: Event) -> tuple[object, ...]:
    """Returns what an event is of, and its direction: of a machine what kind of change."""
    is_machine = event.kind is Kind.MACHINE
    direction = event.method if is_machine else event.kind is Kind.SERIES and event.is_rise
    return (event.kind, event.series, event.environment, direction)


def _form(event: Event) -> bytes:
    return msgspec.json.encode(event)
