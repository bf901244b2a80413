"""Findings of detection: changes of series, events of machines, notes; and the rate of errors."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

from opperf.model import Struct


class ChangeState(str, enum.Enum):
    """ChangeState of a change."""

    PENDING = "pending"
    """The last points differ, and are too few to tell: no alarm yet."""
    DETECTED = "detected"
    WITHDRAWN = "withdrawn"
    """Detected at a commit, and not borne out by the points after it."""


class Moved(Struct, frozen=True, kw_only=True):
    """The figures of a change, as detection finds it and as it is stored."""

    before: float = math.nan
    after: float = math.nan
    """Medians, in the metric's unit; NaN of a machine."""
    ratio: float = math.nan
    """After to before; 1 where an exact metric was 0 and infinite where only the former was. Of a
    machine the median over its series."""
    low: float = math.nan
    high: float = math.nan
    """95 % confidence interval of the ratio; the ratio itself for exact metrics."""
    p: float = math.nan
    """Chance that a look at an unchanged series finds as much; 0 for an exact metric, NaN where
    the method has none, and while it is pending."""
    method: str = ""
    """How it was found; of a machine its kind."""
    count: int = 1
    """Number of series that changed together: with a shift, all that were measured there."""

    @property
    def is_rise(self) -> bool:
        """Whether the new level is the higher one: from 0 on no ratio says so."""
        has_levels = math.isfinite(self.before) and math.isfinite(self.after)
        return self.after > self.before if has_levels else self.ratio > 1


class LevelChange(Moved, frozen=True):
    """A change of a series between two commits of one environment, or of all its series or most:
    one event, whatever their number."""

    key: str
    """Of the series; empty of a machine."""
    environment: str
    last_good: int
    """Position of the last commit before it that has a point."""
    first_bad: int
    """Position of the first commit of the new level, whether it is better or worse."""
    is_worse: bool = False
    state: ChangeState = ChangeState.DETECTED
    seen_at: int = -1
    """Position of the commit whose points sufficed; -1 of a machine."""
    of_machine: bool = False
    """Whether it only seems to change, as many series did not move when the others of the machine
    did, and is no alarm of its own."""
    over_budget: bool = False
    """Whether the alerts of its period were spent on clearer ones."""
    taken_back: int | None = None
    """Position of the first commit of a later change that took it back; None while it stands."""

    @property
    def is_alarm(self) -> bool:
        """Whether someone is to look at it by itself: worse, detected, not shared, in budget."""
        return (
            self.state is ChangeState.DETECTED
            and self.is_worse
            and not self.of_machine
            and not self.over_budget
        )


class Known(Struct, frozen=True):
    """A change that an earlier check found: it stands until the points take it back."""

    key: str
    """Of the series; empty of a machine."""
    environment: str
    first_bad: int
    """Position of its commit."""
    is_rise: bool
    p: float


class EventKind(str, enum.Enum):
    """Kind of a change of a machine: its method."""

    SHIFT = "shift"
    """The level of all its series, as their median has it."""
    EXCURSION = "excursion"
    """That of a single run."""
    MANY = "many"
    """The level of most of its series, and not of many others: a machine, or a commit."""


class NoteKind(str, enum.Enum):
    """Kind of a note: what is shown and alarms nobody."""

    DRIFT = "drift"
    SEASON = "season"
    BREAK = "break"
    """The series goes on in another environment: what differs may be the machine."""
    OMITTED = "omitted"
    """Values of which there is no ratio, as those of 0."""


class SeriesNote(Struct, frozen=True):
    """A note on a series, or on a machine where the key is empty."""

    key: str
    kind: NoteKind
    environment: str
    position: int
    message: str
    replaced: str = ""
    """Environment in whose place the series goes on, of a break."""


class Rate(Struct, frozen=True):
    """The rate of false alarms that is allowed, over all series and looks together."""

    false_alarms: float = 1.0
    """Losses that are expected in a period in which nothing changes; as many gains are."""
    days: float = 365.0
    most_alerts: int | None = None
    """Alerts in a period, of which the clearest are chosen; None for any number."""

    @classmethod
    def budget(cls, alerts: int) -> Rate:
        """Returns the rate of a number of alerts in a week: it is the most, and as many may be
        false where nothing changes."""
        return cls(false_alarms=float(alerts), days=7.0, most_alerts=alerts)


Move = tuple[int, float, float]
"""A change of a level: the position of the first commit of the new one, and both levels."""

BACK = 0.3
"""Share of a change within which a later level is the old one again."""


def taken_back(moves: Sequence[Move]) -> list[int | None]:
    """Returns, for each change of a series in one environment, the position of the later one that
    took it back; None while it stands. They are in the order of their positions. Closing asks for
    the evidence that opening asked for: a change whose new level is the old one again."""
    return [_taken_back(move, moves[index + 1 :]) for index, move in enumerate(moves)]


def _taken_back(move: Move, later: Sequence[Move]) -> int | None:
    _, old, new = move
    size = new - old
    for position, before, after in later:
        left = (after - old) * (1 if size > 0 else -1)
        if (after - before) * size < 0 and left <= BACK * abs(size):
            return position
    return None


class Findings(Struct, frozen=True):
    """All that detection found."""

    changes: tuple[tuple[LevelChange, ...], ...]
    """Of each series, in the series' order, by commit."""
    machine_events: tuple[LevelChange, ...] = ()
    notes: tuple[SeriesNote, ...] = ()
    level: float = math.nan
    """False-discovery rate of each look that the rate comes to; NaN where no look was judged."""
