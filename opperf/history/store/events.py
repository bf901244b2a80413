"""Reads and writes the events of a store."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, insert, select, update

from opperf.errors import UsageError
from opperf.history.events import DETECTION, Event, Kind, State, Update
from opperf.history.store import schema
from opperf.history.store.aliases import read_aliases, user_name
from opperf.history.store.opening import Store
from opperf.history.store.reading import newest_series, read_series
from opperf.history.store.rows import Project, number_or_null

FIGURES = ("before", "after", "ratio", "low", "high", "p")

TEXTS = ("branch", "last_good", "first_bad", "method", "settings")


class StateOf(NamedTuple):
    """A state that an event had, from a time on."""

    state: State
    who: str
    why: str
    time: float


def read_events(store: Store, project: Project, branch: str = "") -> list[Event]:
    """Returns the events of a branch, or of all, the latest last: of a renamed case those of the
    series that goes on."""
    series = _series_now(store, project)
    with store.reading() as connection:
        return _read(connection, project, branch, series)


def _series_now(store: Store, project: Project) -> dict[int, int]:
    """Returns, by the number of a series that goes on as another, that one."""
    if not read_aliases(store, project):
        return {}
    return {old: new.id for old, new in newest_series(read_series(store, project)).items()}


def _read(
    connection: Connection, project: Project, branch: str, now: Mapping[int, int]
) -> list[Event]:
    events, environments, states = schema.events, schema.environments, schema.states
    by = (
        select(states.c.who)
        .where(states.c.event_id == events.c.id)
        .order_by(states.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = (
        select(events, environments.c.key, by.label("by"))
        .join(environments, events.c.environment_id == environments.c.id)
        .where(events.c.project == project.id)
        .order_by(events.c.id)
    )
    if branch:
        query = query.where(events.c.branch == branch)
    return [_event(row, now) for row in connection.execute(query)]


def find_event(store: Store, project: Project, number: int) -> Event:
    """Returns an event by its number. Raises `UsageError` if it is not there."""
    for event in read_events(store, project):
        if event.id == number:
            return event
    raise UsageError(f"{project.name} has no event {number}; opperf history check lists them")


def read_states(store: Store, event: Event) -> list[StateOf]:
    """Returns the states that an event had, in order."""
    states = schema.states
    query = select(states).where(states.c.event_id == event.id).order_by(states.c.id)
    with store.reading() as connection:
        return list(map(_state_of, connection.execute(query)))


def _state_of(row: Any) -> StateOf:
    return StateOf(State(row.state), row.who, row.why, row.time)


def read_all_states(store: Store, project: Project) -> dict[int, list[StateOf]]:
    """Returns the states that each event of a project had, in order, by the event's number."""
    states, events = schema.states, schema.events
    query = (
        select(states)
        .join(events, states.c.event_id == events.c.id)
        .where(events.c.project == project.id)
        .order_by(states.c.id)
    )
    found: dict[int, list[StateOf]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            found.setdefault(row.event_id, []).append(_state_of(row))
    return found


def update_events(
    store: Store,
    project: Project,
    branch: str,
    decide: Callable[[list[Event]], Iterable[Update]],
) -> list[Event]:
    """Stores what is decided of the events of a branch, or of all, all or nothing, and returns
    these as they were: nobody else changes them meanwhile."""
    series = _series_now(store, project)
    now = time.time()
    with store.writing() as connection:
        _lock(connection, project.id)
        known = _read(connection, project, branch, series)
        environments = schema.environments
        ids = {row.key: row.id for row in connection.execute(select(environments))}
        for event, why, who in decide(known):
            row = {
                "project": project.id,
                "environment_id": ids[event.environment],
                "series_id": event.series,
                "kind": event.kind.value,
                "state": event.state.value,
                "count": event.count,
                "updated": now,
                **{name: getattr(event, name) for name in TEXTS},
                **{name: number_or_null(getattr(event, name)) for name in FIGURES},
            }
            if event.id:
                _update(connection, event, row, why, who, now)
            else:
                made = connection.execute(insert(schema.events), {**row, "created": now})
                number = made.inserted_primary_key[0]
                detected = why if event.state is State.NEW and why else "detected"
                _add_state(connection, number, State.NEW, DETECTION, detected, now)
                if event.state is not State.NEW:
                    _add_state(connection, number, event.state, DETECTION, why, now)
    return known


def _lock(connection: Connection, project: int) -> None:
    """Waits for others that change the events of a project. In SQLite a writer is alone."""
    row = select(schema.projects.c.id).where(schema.projects.c.id == project)
    # Of a server, a lock that adding runs does not wait for.
    connection.execute(row.with_for_update(key_share=True))


def _update(
    connection: Connection,
    event: Event,
    row: dict[str, Any],
    why: str,
    who: str,
    now: float,
) -> None:
    events = schema.events
    before = connection.execute(select(events.c.state).where(events.c.id == event.id)).scalar_one()
    connection.execute(update(events).where(events.c.id == event.id).values(row))
    if before != event.state.value:
        _add_state(connection, event.id, event.state, who, why, now)


def set_state(store: Store, event: Event, state: State, why: str, who: str = "") -> None:
    """Sets the state of an event, by the user unless another one is named; what was said last is
    not said twice: a command that was killed after it may be repeated."""
    now = time.time()
    with store.writing() as connection:
        events = schema.events
        find = select(events.c.project).where(events.c.id == event.id)
        _lock(connection, connection.execute(find).scalar_one())
        values = {"state": state.value, "updated": now}
        connection.execute(update(events).where(events.c.id == event.id).values(values))
        states = schema.states.c
        said = select(states.state, states.who, states.why).where(states.event_id == event.id)
        last = connection.execute(said.order_by(states.id.desc()).limit(1)).first()
        who = who or user_name()
        if last is None or tuple(last) != (state.value, who, why):
            _add_state(connection, event.id, state, who, why, now)


def _add_state(
    connection: Connection, event: int, state: State, who: str, why: str, now: float
) -> None:
    row = {"event_id": event, "state": state.value, "who": who, "why": why, "time": now}
    connection.execute(insert(schema.states), row)


def _event(row: Any, now: Mapping[int, int]) -> Event:
    values = {name: getattr(row, name) for name in FIGURES}
    return msgspec.convert(
        {
            **{name: math.nan if value is None else value for name, value in values.items()},
            **{name: getattr(row, name) for name in TEXTS},
            "id": row.id,
            "kind": Kind(row.kind),
            "state": State(row.state),
            "series": now.get(row.series_id, row.series_id),
            "environment": row.key,
            "count": row.count,
            "created": row.created,
            "updated": row.updated,
            "by": row.by or "",
        },
        Event,
    )
