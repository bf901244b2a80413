"""When enough has been sampled: criteria by name.

A criterion looks at what was taken so far and says whether it is enough; sampling stops as soon as
one of those in force does. Another one is a class with a method and a line in `CRITERIA`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from opperf.defaults import MAX_TIME_S
from opperf.model import Settings
from opperf.profilers.summary import half_width


class Taken(NamedTuple):
    """What was sampled so far."""

    samples: Sequence[float]
    """Of the phase that is asked about, in nanoseconds; empty for a phase without kernels."""
    n: int
    """How many times the phases were sampled, whether or not a kernel ran."""
    spent_s: float


class Criterion(Protocol):
    """Whether enough was sampled."""

    def met(self, taken: Taken) -> bool: ...

    def room(self, taken: Taken, sample_s: float) -> int:
        """Samples to take before it is asked again, if each takes so many seconds; it was not met
        with those that are taken."""
        ...


LEAST_SAMPLES = 10
"""Samples before an interval is looked at. From nine on it leaves out the extremes; of fewer, a
lucky few that happen to agree would end it."""

LEAST_RUNS = 3
"""Samples that are taken whatever the time: fewer have no median worth the name."""


class Precision(NamedTuple):
    """Enough when the median is known well: its 95 % interval reaches no further from it than this
    share of it. To stop as soon as an interval is narrow makes it cover a little less often than
    it says (Chow and Robbins, 1965, on intervals of fixed width, show that the loss vanishes as
    the width does); `LEAST_SAMPLES` keeps it small."""

    share: float

    def met(self, taken: Taken) -> bool:
        enough = taken.n >= LEAST_SAMPLES
        # A phase without kernels has no interval, and will not have one.
        return enough and (not taken.samples or half_width(taken.samples) <= self.share)

    def room(self, taken: Taken, sample_s: float) -> int:
        # Half as many again: the interval narrows with the root of their number.
        return max(LEAST_SAMPLES - taken.n, LEAST_SAMPLES // 2, taken.n // 2)


class Time(NamedTuple):
    """Enough when the time is spent."""

    seconds: float

    def met(self, taken: Taken) -> bool:
        return taken.n >= LEAST_RUNS and taken.spent_s >= self.seconds

    def room(self, taken: Taken, sample_s: float) -> int:
        left = int((self.seconds - taken.spent_s) / sample_s)
        return max(LEAST_RUNS - taken.n, left)


class Count(NamedTuple):
    """Enough after so many samples."""

    samples: int

    def met(self, taken: Taken) -> bool:
        return taken.n >= self.samples

    def room(self, taken: Taken, sample_s: float) -> int:
        return self.samples - taken.n


def limit_s(settings: Settings) -> float | None:
    """Seconds a case is timed for at most; None where its calls are counted and nothing else."""
    if settings.max_time_s is None and settings.runs is None:
        return MAX_TIME_S
    return settings.max_time_s


def _time(settings: Settings, share: float) -> Time | None:
    limit = limit_s(settings)
    return None if limit is None else Time(share * limit)


CRITERIA: dict[str, Callable[[Settings, float], Criterion | None]] = {
    "precision": lambda settings, share: (
        None if settings.runs is not None else Precision(settings.precision)
    ),
    "time": _time,
    "count": lambda settings, share: None if settings.runs is None else Count(settings.runs),
}
"""Criteria by name, each from the settings of a case and the share of its time that a pass has;
None where the settings ask for no such end."""


def criteria(settings: Settings, share: float) -> tuple[Criterion, ...]:
    """The criteria that the settings put in force for a pass with this share of the time."""
    made = (make(settings, share) for make in CRITERIA.values())
    return tuple(criterion for criterion in made if criterion is not None)
