"""Events of Chrome's format with their times: complete ones, and the beginnings and ends that make
one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from typing import Any, NamedTuple

from opperf.decoding import JsonObject
from opperf.traces.anomalies import Anomalies, Anomaly

NS_PER_US = 1000

LONGEST_NS = 86_400 * 10**9
"""A day, which no profiler's buffer holds: a longer duration is one below zero that wrapped around,
or a mark that was never set."""

LATEST_NS = 1 << 62
"""The largest time: clocks of this century are below half of it, and JSON has 64 bits."""

WITHOUT_TIMES = frozenset("iIPRMCNODsftcvV()")
"""Phases of the format that have no duration: marks, samples, names, counters, objects, arrows."""

ASYNCHRONOUS = frozenset("bneSTpF")
"""Phases of work that is of no thread, by numbers of its own."""


class ChromeEvent(NamedTuple):
    """An event with a begin and an end."""

    name: str
    category: str
    process: str
    thread: str
    begin: int
    """Nanoseconds of the trace's clock."""
    end: int
    """The begin where it is unknown."""
    time: int
    """-1 if unknown."""
    args: JsonObject


class Mark(NamedTuple):
    """The beginning or end of an event."""

    at: int
    begins: bool
    raw: JsonObject


def events_of(
    objects: Iterable[JsonObject], categories: Set[str], anomalies: Anomalies
) -> Iterator[ChromeEvent]:
    """Yields the events of some categories, those of beginnings and ends after the complete ones.
    What is wrong with them is counted."""
    marks: dict[tuple[str, str], list[Mark]] = defaultdict(list)
    latest = 0
    for raw in objects:
        phase, category = raw.get("ph"), raw.get("cat")
        is_end = phase == "E"
        if isinstance(phase, str) and phase in WITHOUT_TIMES:
            continue
        # Ends belong to the latest beginning of their thread, of whatever category.
        if phase not in ("B", "E") and not (isinstance(category, str) and category in categories):
            continue
        if phase not in ("X", "B", "E"):
            is_known = isinstance(phase, str) and phase in ASYNCHRONOUS
            anomalies[Anomaly.ASYNCHRONOUS if is_known else Anomaly.PHASE] += 1
            continue
        if not is_end and not isinstance(raw.get("name"), str):
            anomalies[Anomaly.UNNAMED] += 1
            continue
        begin = _ns(raw.get("ts"))
        if begin is None:
            anomalies[Anomaly.NO_BEGIN] += 1
            continue
        if phase == "X":
            event = _event(raw, begin, _duration(raw, anomalies), anomalies)
            latest = max(latest, event.end)
            yield event
        else:
            latest = max(latest, begin)
            marks[_place(raw)].append(Mark(begin, not is_end, raw))
    for own in marks.values():
        for event in _paired(sorted(own, key=lambda mark: mark.at), latest, anomalies):
            if event.category in categories:
                yield event


def _event(
    raw: JsonObject, begin: int, time: int, anomalies: Anomalies, end: int | None = None
) -> ChromeEvent:
    process, thread = _place(raw)
    if raw.get("pid") is None or raw.get("tid") is None:
        anomalies[Anomaly.NO_THREAD] += 1
    if end is None:
        end = begin + max(time, 0)
    category = raw.get("cat")
    return ChromeEvent(
        raw["name"],
        category if isinstance(category, str) else "",
        process,
        thread,
        begin,
        end,
        time,
        _args(raw),
    )


def _place(raw: JsonObject) -> tuple[str, str]:
    return str(raw.get("pid")), str(raw.get("tid"))


def _args(raw: JsonObject) -> JsonObject:
    found = raw.get("args")
    return found if isinstance(found, dict) else {}


def _paired(marks: Iterable[Mark], latest: int, anomalies: Anomalies) -> Iterator[ChromeEvent]:
    """Yields the events of a thread's beginnings and ends, which are in the order of their times.
    An end with a name is that of the innermost event of this name, without one of the innermost;
    what began in it and has no end of its own ended with it."""
    open_marks: list[Mark] = []
    for mark in marks:
        if mark.begins:
            open_marks.append(mark)
            continue
        name = mark.raw.get("name")
        index = len(open_marks) - 1
        while isinstance(name, str) and index >= 0 and open_marks[index].raw["name"] != name:
            index -= 1
        if index < 0:
            anomalies[Anomaly.UNBEGUN] += 1
            continue
        inner = open_marks[index + 1 :]
        yield from _unended(inner, mark.at, anomalies)
        begun = open_marks[index]
        # Arguments may be at either.
        raw = {**begun.raw, "args": {**_args(begun.raw), **_args(mark.raw)}}
        yield _event(raw, begun.at, mark.at - begun.at, anomalies)
        del open_marks[index:]
    yield from _unended(open_marks, latest, anomalies)


def _unended(marks: Iterable[Mark], end: int, anomalies: Anomalies) -> Iterator[ChromeEvent]:
    for mark in marks:
        anomalies[Anomaly.UNENDED] += 1
        yield _event(mark.raw, mark.at, -1, anomalies, max(end, mark.at))


def _duration(raw: JsonObject, anomalies: Anomalies) -> int:
    """-1 if unknown."""
    us = _number(raw.get("dur"))
    if us is not None and 0 <= us <= LONGEST_NS / NS_PER_US:
        return round(us * NS_PER_US)
    wrong = Anomaly.NO_DURATION
    if us is not None:
        wrong = Anomaly.NEGATIVE if us < 0 else Anomaly.HUGE
    anomalies[wrong] += 1
    return -1


def _ns(value: Any) -> int | None:
    us = _number(value)
    return None if us is None or abs(us) > LATEST_NS / NS_PER_US else round(us * NS_PER_US)


def _number(value: Any) -> float | None:
    if type(value) is bool:
        return None
    try:
        made = float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(made) else made
