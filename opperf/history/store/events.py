"""Reads and writes what became of changes: events with their states, what verdicts decide of them,
and names under which cases go on."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from opperf.errors import UsageError
from opperf.history.events import DETECTION, Event, State, StateOf, Update
from opperf.history.model import Project
from opperf.history.store import schema
from opperf.history.store.opening import Store
from opperf.history.store.reading import (
    last_name,
    newest_series,
    read_aliases,
    read_commits,
    read_environments,
    read_series,
    read_verdicts,
    value_of,
)
from opperf.history.verdicts import NOTHING, Evidence, by_figure, decide_events


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
    events = schema.events
    query = select(events).where(events.c.project == project.id).order_by(events.c.id)
    if branch:
        query = query.where(events.c.branch == branch)
    return [
        value_of(Event, row, series=now.get(row.series, row.series))
        for row in connection.execute(query)
    ]


def find_event(store: Store, project: Project, number: int) -> Event:
    """Returns an event by its number. Raises `UsageError` if it is not there."""
    for event in read_events(store, project):
        if event.id == number:
            return event
    raise UsageError(f"{project.name} has no event {number}; opperf history check lists them")


def read_states(store: Store, project: Project) -> dict[int, list[StateOf]]:
    """Returns the states that each event of a project had, in order, by the event's number."""
    states, events = schema.states, schema.events
    query = (
        select(states)
        .join(events, states.c.event == events.c.id)
        .where(events.c.project == project.id)
        .order_by(states.c.id)
    )
    found: dict[int, list[StateOf]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            found.setdefault(row.event, []).append(value_of(StateOf, row))
    return found


def update_events(
    store: Store, project: Project, branch: str, decide: Callable[[list[Event]], Iterable[Update]]
) -> list[Event]:
    """Stores what is decided of the events of a branch, or of all, all or nothing, and returns
    these as they were: nobody else changes them meanwhile."""
    series = _series_now(store, project)
    now = time.time()
    with store.writing() as connection:
        _lock(connection, project.id)
        known = _read(connection, project, branch, series)
        states = {event.id: event.state for event in known}
        for event, why, who in decide(known):
            is_new = not event.id
            is_other = not is_new and states[event.id] is not event.state
            by = DETECTION if is_new else who if is_other else event.by
            created = now if is_new else event.created
            event = msgspec.structs.replace(event, by=by, created=created, updated=now)
            row = {**msgspec.structs.asdict(event), "project": project.id}
            number = row.pop("id")
            if is_new:
                made = connection.execute(insert(schema.events), row)
                number = made.inserted_primary_key[0]
                detected = why if event.state is State.NEW and why else "detected"
                _add_state(connection, number, StateOf(State.NEW, DETECTION, detected, now))
                is_other = event.state is not State.NEW
            else:
                same = schema.events.c.id == number
                connection.execute(update(schema.events).where(same).values(row))
            if is_other:
                _add_state(connection, number, StateOf(event.state, by, why, now))
    return known


def _lock(connection: Connection, project: int) -> None:
    """Waits for others that change the events of a project. In SQLite a writer is alone."""
    row = select(schema.projects.c.id).where(schema.projects.c.id == project)
    # Of a server, a lock that adding runs does not wait for.
    connection.execute(row.with_for_update(key_share=True))


def set_state(
    store: Store, project: Project, event: Event, state: State, why: str, who: str = ""
) -> None:
    """Sets the state of an event, by the user unless another one is named; what was said last is
    not said twice: a command that was killed after it may be repeated."""
    new = StateOf(state, who or user_name(), why, time.time())
    with store.writing() as connection:
        _lock(connection, project.id)
        events, states = schema.events, schema.states.c
        values = {"state": state, "by": new.who, "updated": new.time}
        connection.execute(update(events).where(events.c.id == event.id).values(values))
        said = select(states.state, states.who, states.why).where(states.event == event.id)
        last = connection.execute(said.order_by(states.id.desc()).limit(1)).first()
        if last is None or tuple(last) != (state, new.who, why):
            _add_state(connection, event.id, new)


def _add_state(connection: Connection, event: int, state: StateOf) -> None:
    row = {"event": event, **msgspec.structs.asdict(state)}
    connection.execute(insert(schema.states), row)


def read_evidence(store: Store, project: Project) -> Evidence:
    """Returns the verdicts of a project with what they are compared with; without any,
    nothing."""
    verdicts = read_verdicts(store, project)
    if not verdicts:
        return NOTHING
    series = newest_series(read_series(store, project))
    environments = read_environments(store)
    return Evidence(
        by_figure(verdicts),
        {number: stored.key for number, stored in series.items()},
        read_commits(store, project),
        {key: found.facts for key, found in environments.items()},
    )


def decide_by_verdicts(store: Store, project: Project, branch: str = "") -> list[Update]:
    """Sets the states of the events of a branch, or of all, that verdicts decide, and returns
    what changed."""
    evidence = read_evidence(store, project)
    updates: list[Update] = []

    def decide(events: list[Event]) -> list[Update]:
        updates.extend(decide_events(events, evidence))
        return updates

    if evidence.verdicts:
        update_events(store, project, branch, decide)
    return updates


def user_name() -> str:
    """Returns the name of who changes a store; `unknown` if the system has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def add_alias(store: Store, project: Project, old: str, new: str, why: str) -> None:
    """Lets the points of one case go on as another's. Raises `UsageError` for a cycle."""
    table = schema.aliases
    row = {"old": old, "new": new, "who": user_name(), "why": why, "time": time.time()}
    with store.writing() as connection:
        query = select(table.c.old, table.c.new).where(table.c.project == project.id)
        # Without the one that is replaced.
        others = {each.old: each.new for each in connection.execute(query) if each.old != old}
        if last_name(new, others) == old:
            raise UsageError(f"{old} cannot go on as {new}, which goes on as {old}")
        connection.execute(delete(table).filter_by(project=project.id, old=old))
        connection.execute(insert(table), {**row, "project": project.id})
