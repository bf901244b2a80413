"""Samples phases of a call: warm-up, calibration of loops, and sampling until the first of a
case's stopping criteria is met."""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from opperf.defaults import MAX_TIME_S, MIN_RUNS
from opperf.frameworks.timing import MOST_CALLS, PhaseTimes, Profiler
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
    """The criteria of a pass with this share of the case's time, and the fewest samples."""
    limit = limit_s(settings)
    return (
        *([Precision(settings.precision)] if settings.runs is None else []),
        *([] if limit is None else [Time(share * limit, fewest)]),
        *([] if settings.runs is None else [Count(settings.runs)]),
    )


Phases = Sequence[Callable[[], object]]

NS_PER_S = 1e9

RESOLUTIONS = 1000
"""Shortest sample in steps of the clock, so that rounding is at most a thousandth of it."""

LONGEST_SAMPLE_S = 0.02
"""Longest wall time of a sample; rounding of short kernels averages out over samples."""

CALIBRATING = 5
"""Calls whose median determines the loops of a sample."""

WARM_CALLS = 5
"""Calls of a stretch of the warm-up, compared by the fastest: interruptions add time."""

WARM_GAIN = 0.02
"""Smallest gain of a stretch over the one before for the warm-up to go on, as a share; a smaller
one is within the noise of a quiet machine."""


class Samples(NamedTuple):
    """The result of sampling."""

    phases: list[PhaseTimes]
    loops: int
    """Calls of each sample, their mean."""
    last: tuple[Any, ...] = ()
    """The result of the last call of the last phase, if the profiler keeps it."""


class Sampling(NamedTuple):
    """A pass that is ready to be sampled."""

    metric: str
    profiler: Profiler
    phases: Phases
    measured: int
    """The measured phase, by its index."""
    criteria: Sequence[Criterion]
    call_s: float
    """Seconds of one call of all phases, about."""
    loops: int


class Settling:
    """Decides when a warm-up is over: when a stretch of calls is no faster than the one before.
    `first_s` are the seconds of the very first call."""

    def __init__(self, first_s: float) -> None:
        self._level, self._stretch = math.inf, [first_s]

    @property
    def fastest_s(self) -> float:
        """Seconds of the fastest call of the last stretch."""
        return min(self._stretch)

    def add(self, seconds: float) -> None:
        self._stretch.append(seconds)

    def is_over(self) -> bool:
        """Returns whether the calls so far are enough; else a stretch that has ended begins
        anew."""
        if len(self._stretch) < WARM_CALLS:
            return False
        if self.fastest_s > (1 - WARM_GAIN) * self._level:
            return True
        self._level, self._stretch = self.fastest_s, []
        return False


def warm_up(
    phases: Phases, wait: Callable[[], object], first_s: float, most_s: float, calls: int | None
) -> tuple[float, list[float]]:
    """Runs the phases until they get no faster, or `calls` times, for at most `most_s` seconds.
    `first_s` are the seconds of the very first call. Returns the seconds of the fastest call of the
    last stretch, and each call's time of the last phase and its synchronisation in nanoseconds."""
    *before, last = phases
    times: list[float] = []
    begun, settling = time.perf_counter(), Settling(first_s)
    # A first call that took `most_s` is warm-up enough.
    while (calls is None or len(times) < calls) and (
        max(first_s, time.perf_counter() - begun) < most_s
    ):
        if calls is None and settling.is_over():
            break
        begin = middle = time.perf_counter()
        if before:
            for phase in before:
                phase()
            wait()
            middle = time.perf_counter()
        last()
        wait()
        end = time.perf_counter()
        settling.add(end - begin)
        times.append((end - middle) * NS_PER_S)
    return settling.fastest_s, times


def loops_for(profiler: Profiler, phases: Phases, measured: int, call_s: float) -> int:
    """Returns the calls in a sample, so that the measured phase is long compared with the clock's
    steps. One call of all phases takes about `call_s` seconds."""
    if 2 * call_s > LONGEST_SAMPLE_S:
        return 1
    timed = profiler.trace(phases, CALIBRATING)
    if not timed[measured].times:
        return 1
    # A phase as short as the overhead of timing is measured as zero.
    step_ns = profiler.resolution_ns
    call_ns = max(step_ns, _median(timed[measured].times))
    wall_ns = max(step_ns, sum(_median(phase.walls) for phase in timed))
    wanted = math.ceil(RESOLUTIONS * step_ns / call_ns)
    return max(1, min(wanted, int(LONGEST_SAMPLE_S * 1e9 / wall_ns)))


def _median(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2]


def _extend(before: PhaseTimes, more: PhaseTimes) -> PhaseTimes:
    before.times.extend(more.times)
    before.walls.extend(more.walls)
    before.calls.extend(more.calls[: MOST_CALLS - len(before.calls)])
    return before._replace(batch=more.batch, recording=more.recording)


def sample(
    profiler: Profiler,
    phases: Phases,
    measured: int,
    criteria: Sequence[Criterion],
    call_s: float,
    loops: int,
) -> Samples:
    """Samples the phases, which take about `call_s`, until the measured one meets a criterion."""
    found = [PhaseTimes([], [], []) for _ in phases]
    begun, count = time.perf_counter(), 0
    last: tuple[Any, ...] = ()
    sample_s = loops * call_s
    while True:
        spent = time.perf_counter() - begun
        taken = SamplesSoFar(found[measured].times, count, spent)
        if any(criterion.met(taken) for criterion in criteria):
            return Samples(found, loops, last)
        sample_s = spent / count if count else sample_s
        batch = max(1, min(criterion.room(taken, sample_s) for criterion in criteria))
        # Freed before the next call allocates.
        last = ()
        more = profiler.trace(phases, batch, loops)
        last = more[-1].last
        found = [_extend(one, other) for one, other in zip(found, more, strict=True)]
        # One that returns nothing at all has to end too.
        count += len(more[measured].walls) or batch
        del more


SHORT_CALL_S = 0.01
"""Seconds up to which a turn begins with a call that is not timed: what the other arm's call leaves
in the caches takes at most some milliseconds to replace, a small part of a longer call."""


def sample_in_turn(
    every: Sequence[Sampling],
    turns: Sequence[Callable[[], AbstractContextManager[object]]],
    draw: random.Random,
) -> list[Samples]:
    """Samples several in turn, in random order in each round, in which each has one sample; `turns`
    are entered for the turn of each. A turn begins with a call that is not timed, so that each
    finds what it left itself in caches and branch predictors. Ends once the ratios to the first
    meet a criterion of it, whose times are those of one."""
    found = [[PhaseTimes([], [], []) for _ in own.phases] for own in every]
    last: list[tuple[Any, ...]] = [()] * len(every)
    order = list(range(len(every)))
    begun, rounds = time.perf_counter(), 0
    while True:
        spent = (time.perf_counter() - begun) / len(every)
        first, *others = (one[own.measured].times for one, own in zip(found, every, strict=True))
        ratios = [
            [new / base for base, new in zip(first, own, strict=False) if base > 0]
            for own in others
        ]
        if rounds and all(
            any(criterion.met(SamplesSoFar(own, rounds, spent)) for criterion in every[0].criteria)
            for own in ratios or [first]
        ):
            listed = zip(found, every, last, strict=True)
            return [Samples(times, own.loops, result) for times, own, result in listed]
        for _ in range(ROUNDS):
            draw.shuffle(order)
            for place in order:
                own = every[place]
                last[place] = ()
                with turns[place]():
                    if own.call_s < SHORT_CALL_S:
                        own.profiler.trace(own.phases, 1)
                    more = own.profiler.trace(own.phases, 1, own.loops)
                last[place] = more[-1].last
                found[place] = [_extend(*both) for both in zip(found[place], more, strict=True)]
                del more
            rounds += 1


ROUNDS = 5
"""Rounds between two looks at the criteria, which sort the ratios."""


T = TypeVar("T")


Steps = Generator[Sampling, Samples, T]


def run(steps: Steps[T]) -> T:
    """Samples each step as it comes."""
    try:
        wanted = next(steps)
        while True:
            # Held beyond the end of the steps, which is an exception on its way: the last result's
            # own end may run code, as that of MXNet's capsules does.
            done = sample(*wanted[1:])
            wanted = steps.send(done)
    except StopIteration as end:
        result: T = end.value
        return result
