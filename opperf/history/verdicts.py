"""Verdicts of sessions of two commits, measured in turn, and what they decide of events: a change
point is a suspicion, which a verdict confirms or refutes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.comparison.compared import ComparedRow, interval_text, ratio_text
from opperf.formats.model import SeriesKey
from opperf.history.events import Event, Kind, State, Update
from opperf.model import Struct
from opperf.plurals import pluralize
from opperf.repository import Commit
from opperf.statistics.data import Verdict

SESSION = "opperf ab"
"""Who sets a state by a session, before its id."""

NO_CHANGE = "no change"
"""Of all threads: looked at, and no change was shown."""

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)


class SessionVerdict(ComparedRow, frozen=True, kw_only=True):
    """The verdict of a session on one figure of B against A, with the 90 % interval of its ratio;
    its id is that of the case in the project."""

    session: str
    """Identity of the session."""
    environment: str
    """Comparability key."""
    a: Commit
    b: Commit
    started: float
    """Seconds since 1970."""
    all_threads: str = ""
    """`slower`, `faster` or `no change` with all threads, where a session of fewer looked at that,
    too; empty where it did not."""

    @property
    def is_exact(self) -> bool:
        return self.low is not None and self.low == self.high

    @property
    def is_worse(self) -> bool:
        """Whether the ratio is: the figures of both sides are not kept."""
        return ((self.ratio or 1.0) > 1) == self.described.lower_is_better

    @property
    def text(self) -> str:
        """The verdict with its ratio and interval: `regressed 1.052 (1.041 to 1.063)`."""
        interval = interval_text(self.low, self.high)
        ratio = ratio_text(self.ratio, self.is_exact)
        return f"{self.verdict.value} {ratio}{f' ({interval})' if interval else ''}".strip()

    @property
    def sentence(self) -> str:
        """The verdict as the reason of a state."""
        of = "" if self.is_exact else f", {pluralize(self.blocks or 0, 'block')}"
        return f"{self.text}{of}: {self.b.short} against {self.a.short}, measured in turn"


class JudgedSession(Struct, frozen=True):
    """The verdicts of a session, added together or not at all."""

    id: str
    """Identity of the session: its copies have the same, and are added once."""
    a: Commit
    b: Commit
    verdicts: tuple[SessionVerdict, ...]
    environments: Mapping[str, Mapping[str, Any]]
    """Facts of each environment, by its key."""


class Evidence(NamedTuple):
    """The verdicts of a project, and what they are compared with."""

    verdicts: Mapping[tuple[str, str], Sequence[SessionVerdict]]
    """By case and metric, the latest first."""
    keys: Mapping[int, SeriesKey]
    """By the number of each series."""
    commits: Mapping[str, Commit]
    """By id."""
    facts: Mapping[str, Mapping[str, Any]]
    """Facts of each environment, by its key."""

    def of_key(self, key: SeriesKey) -> Sequence[SessionVerdict]:
        """Returns the verdicts on the case and metric of a series, of any machine."""
        return self.verdicts.get((key.case, key.metric), ())

    def of_event(self, event: Event) -> Sequence[SessionVerdict]:
        """Returns the verdicts on the case and metric of an event."""
        key = None if event.series is None else self.keys.get(event.series)
        return () if key is None else self.of_key(key)

    def places(self, event: Event, verdict: SessionVerdict) -> tuple[float, ...] | None:
        """Returns the places of A, the last good commit, the first bad one and B among all commits;
        None if they are unknown."""
        good, bad = self.commits.get(event.last_good), self.commits.get(event.first_bad)
        if good is None or bad is None:
            return None
        commits = (verdict.a, good, bad, verdict.b)
        positions = [commit.position for commit in commits if commit.position is not None]
        if len(positions) == len(commits):
            return tuple(map(float, positions))
        times = tuple(commit.time for commit in commits)
        return times if all(map(math.isfinite, times)) else None

    def covers(self, verdict: SessionVerdict, event: Event) -> bool:
        """Returns whether an event's change is between the commits of a verdict."""
        places = self.places(event, verdict)
        if places is None:
            return False
        a, good, bad, b = places
        return min(a, b) <= good and bad <= max(a, b)

    def touching(self, event: Event) -> list[SessionVerdict]:
        """Returns the verdicts on a change, the latest first: those whose commits have any of the
        ones between which it is."""
        found = []
        for verdict in self.of_event(event):
            a, good, bad, b = self.places(event, verdict) or (math.nan,) * 4
            if min(a, b) < bad and good < max(a, b):
                found.append(verdict)
        return found


NOTHING = Evidence({}, {}, {}, {})
"""No verdict."""


def latest_first(verdicts: Iterable[SessionVerdict]) -> list[SessionVerdict]:
    """Returns verdicts, those of the latest session first."""
    return sorted(verdicts, key=lambda one: (one.started, one.session), reverse=True)


def by_figure(verdicts: Iterable[SessionVerdict]) -> dict[tuple[str, str], list[SessionVerdict]]:
    """Returns verdicts by case and metric, the latest first."""
    found: dict[tuple[str, str], list[SessionVerdict]] = {}
    for verdict in latest_first(verdicts):
        found.setdefault((verdict.id, verdict.metric), []).append(verdict)
    return found


def decide_events(events: Sequence[Event], evidence: Evidence) -> list[Update]:
    """Returns the events whose state is another one by the latest verdict that decides them. Those
    that somebody blessed, confirmed or refuted, or a bisection did, stay, as do fixed ones. Where
    several changes of a series are between the same two commits, a verdict on their sum decides
    none."""
    updates = []
    for event in events:
        if not _is_decided_by_sessions(event):
            continue
        for verdict in evidence.of_event(event):
            state = _state(event, verdict, events, evidence)
            if state is not None:
                if state is not event.state:
                    decided = msgspec.structs.replace(event, state=state)
                    who = f"{SESSION} {verdict.session}"
                    updates.append(Update(decided, verdict.sentence, who))
                break
    return updates


def _is_decided_by_sessions(event: Event) -> bool:
    if event.kind is Kind.STOPPED:
        # What is compared has figures in both commits.
        return False
    is_of_session = event.by.startswith(f"{SESSION} ")
    return event.state is State.NEW or (
        is_of_session and event.state in (State.CONFIRMED, State.NOISE)
    )


def _state(
    event: Event, verdict: SessionVerdict, events: Sequence[Event], evidence: Evidence
) -> State | None:
    if not evidence.covers(verdict, event) or any(
        other is not event
        and other.kind is event.kind
        and (other.series, other.branch) == (event.series, event.branch)
        and other.state is not State.NOISE
        and evidence.covers(verdict, other)
        for other in events
    ):
        return None
    a, *_, b = evidence.places(event, verdict) or (0.0, 0.0)
    in_order = a < b
    if verdict.verdict in CHANGED and verdict.ratio is not None:
        is_rise = (verdict.ratio > 1) == in_order
        return State.CONFIRMED if is_rise == event.is_rise else None
    is_noise = (
        verdict.verdict is Verdict.SAME
        and _excludes(event, verdict, in_order)
        and _is_of_environment(event, verdict, evidence)
    )
    return State.NOISE if is_noise else None


def _excludes(event: Event, verdict: SessionVerdict, in_order: bool) -> bool:
    """Returns whether the interval of a ratio is short of an event's change. A change of 3 % may be
    there where figures are the same within 4 %."""
    if verdict.low is None or verdict.high is None:
        return False
    low, high = (verdict.low, verdict.high) if in_order else (1 / verdict.high, 1 / verdict.low)
    # Of a change from zero, which has no ratio, every figure that is the same is short.
    return not (event.ratio <= high if event.is_rise else event.ratio >= low)


def _is_of_environment(event: Event, verdict: SessionVerdict, evidence: Evidence) -> bool:
    """Returns whether figures that are the same say so of an event's environment: a change may be
    of one kind of machine alone, or of many threads alone."""
    if event.environment == verdict.environment:
        return True
    ours, theirs = (evidence.facts.get(key, {}) for key in (event.environment, verdict.environment))
    if _machine(ours) != _machine(theirs):
        return False
    return ours.get("threads") == theirs.get("threads") or verdict.all_threads == NO_CHANGE


def _machine(facts: Mapping[str, Any]) -> tuple[Any, ...]:
    gpus = [gpu.get("model") for gpu in facts.get("gpus") or ()]
    return (facts.get("framework"), facts.get("cpu"), gpus)
