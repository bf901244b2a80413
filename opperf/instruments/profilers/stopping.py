"""Stopping criteria of sampling, which stops as soon as one of a case's is met."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from opperf.defaults import MAX_TIME_S, MIN_RUNS
from opperf.instruments.profilers.summary import half_width
from opperf.model import Settings


class SamplesSoFar(NamedTuple):
    """The samples so far of the measured phase, and their cost."""

    samples: Sequence[float]
    """In nanoseconds; empty for a phase without kernels."""
    n: int
    """Number of times the phases were sampled, with or without kernels."""
    spent_s: float


class Criterion(Protocol):
    """A condition on which sampling stops."""

    def met(self, taken: SamplesSoFar) -> bool: ...

    def room(self, taken: SamplesSoFar, sample_s: float) -> int:
        """Number of samples before the next check, if each takes `sample_s`; unless it is met."""
        ...


MIN_ADAPTIVE_SAMPLES = 10
"""Fewest samples for the precision to count. From nine on the interval excludes the extremes; with
fewer, a few that agree by chance would stop it."""


class Precision(NamedTuple):
    """Met when the half-width of the median's 95 % interval is at most this share of the median. An
    interval that stops its own sampling covers the median a little less often (Chow and Robbins,
    1965, on intervals of fixed width, show that the loss vanishes with the width);
    `MIN_ADAPTIVE_SAMPLES` keeps the loss small."""

    share: float

    def met(self, taken: SamplesSoFar) -> bool:
        enough = taken.n >= MIN_ADAPTIVE_SAMPLES
        # A phase without kernels never has an interval.
        return enough and (not taken.samples or half_width(taken.samples) <= self.share)

    def room(self, taken: SamplesSoFar, sample_s: float) -> int:
        # Half as many again: the half-width falls with the root of their number.
        return max(MIN_ADAPTIVE_SAMPLES - taken.n, MIN_ADAPTIVE_SAMPLES // 2, taken.n // 2)


class Time(NamedTuple):
    """Met when the time is spent, after the fewest samples."""

    seconds: float
    fewest: int = MIN_RUNS

    def met(self, taken: SamplesSoFar) -> bool:
        return taken.n >= self.fewest and taken.spent_s >= self.seconds

    def room(self, taken: SamplesSoFar, sample_s: float) -> int:
        left = int((self.seconds - taken.spent_s) / sample_s)
        return max(self.fewest - taken.n, left)


class Count(NamedTuple):
    """Met after a number of samples."""

    samples: int

    def met(self, taken: SamplesSoFar) -> bool:
        return taken.n >= self.samples

    def room(self, taken: SamplesSoFar, sample_s: float) -> int:
        return self.samples - taken.n


def limit_s(settings: Settings) -> float | None:
    """Time limit of a case in seconds; None if it has a number of calls and no limit."""
    if settings.max_time_s is None and settings.runs is None:
        return MAX_TIME_S
    return settings.max_time_s


def most_loops(limit: float, call_s: float) -> int:
    """Returns the most calls in a sample with which the fewest samples that show a precision take
    half of a time limit in seconds: how long a sample takes is known after them, and `call_s` is
    that of the fastest call."""
    if math.isinf(limit):
        return sys.maxsize
    return max(1, int(limit / 2 / (MIN_ADAPTIVE_SAMPLES * call_s)))


def criteria(settings: Settings, share: float, fewest: int = MIN_RUNS) -> tuple[Criterion, ...]:
    """The criteria of a pass with this share of the case's time, and the fewest samples in any
    time."""
    limit = limit_s(settings)
    return (
        *([Precision(settings.precision)] if settings.runs is None else []),
        *([] if limit is None else [Time(share * limit, fewest)]),
        *([] if settings.runs is None else [Count(settings.runs)]),
    )
