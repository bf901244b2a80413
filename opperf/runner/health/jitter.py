"""Measured noise: how finely time is told here, and how evenly the same work is done."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from functools import partial
from itertools import repeat

import msgspec
import numpy as np

from opperf.profilers.python import resolution_ns
from opperf.runner.health.finding import BUSIEST, NEGLIGIBLE, Finding, Level

QUANTUM_NS = 20_000
"""Least time of the work that is repeated: hundreds of times what reading the clock takes, and
short enough that an interruption of ten microseconds stands out."""

CALIBRATING = 50
"""Times each amount of work is tried, the quickest of which counts: the others may have been
interrupted. A millisecond for the last amount."""

INTERRUPTED = 1.5
"""Times the quickest quantum from which one was interrupted. A clock that falls from its boost to
its base stays below; anything that took the core for half a quantum does not."""

P99_RATIO = 1.25
"""Times the median that the slowest hundredth may begin at. Clocks that wander within their range
stay below; beyond it a percentile of an operator tells of the machine."""

COARSE_NS = 1000
"""Step of a clock from which it is coarse: the shortest operators take a few microseconds, of which
it would tell one from the next, and no more."""

NS_PER_S = 1e9
NS_PER_US = 1e3
NS_PER_MS = 1e6


class Timer(msgspec.Struct, frozen=True):
    """How finely time is told."""

    step_ns: float
    """Time between two readings of the clock, which is no less than its step."""
    announced_ns: float
    """Its step as the system says it."""


class Jitter(msgspec.Struct, frozen=True):
    """How evenly the same work is done, over and over."""

    seconds: float
    """Time the work took in all."""
    quanta: int
    """How often it was done."""
    least_ns: float
    median_ns: float
    p99_ratio: float
    """99th percentile as a multiple of the median."""
    largest_ns: float
    lost_share: float
    """Share of the time beyond what uninterrupted work may take."""
    interruptions_per_s: float


def timer() -> Timer:
    """The clock that samples are timed with."""
    announced = time.get_clock_info("perf_counter").resolution * NS_PER_S
    return Timer(step_ns=resolution_ns(), announced_ns=announced)


def _spin(rounds: int) -> None:
    """Work for the processor alone: no memory, no system call."""
    for _ in repeat(None, rounds):
        pass


def quantum(clock: Callable[[], int] = time.perf_counter_ns) -> Callable[[], None]:
    """Work that takes from one to two `QUANTUM_NS`, as this machine is now."""
    rounds = 1
    while True:
        work = partial(_spin, rounds)
        if min(_timed(work, clock) for _ in range(CALIBRATING)) >= QUANTUM_NS:
            return work
        rounds *= 2


def _timed(work: Callable[[], None], clock: Callable[[], int]) -> int:
    begin = clock()
    work()
    return clock() - begin


def repeated(
    seconds: float,
    work: Callable[[], None],
    clock: Callable[[], int] = time.perf_counter_ns,
) -> array[int]:
    """Do the work over and over for so many seconds, once at least; what each time took, in
    nanoseconds."""
    end = clock() + round(seconds * NS_PER_S)
    # Eight bytes each, so that a test of minutes takes no memory worth mention.
    times = array("q", [_timed(work, clock)])
    while clock() < end:
        times.append(_timed(work, clock))
    return times


def jitter_of(times: array[int]) -> Jitter:
    """What is to be said of the times that the same work took, in nanoseconds, one at least."""
    taken = np.asarray(times)
    least, median, p99 = taken.min(), np.median(taken), np.percentile(taken, 99)
    limit = INTERRUPTED * least
    slow = taken > limit
    # Of neighbours that are slow, the first: one interruption, however long it lasts.
    begun = slow & ~np.concatenate([[False], slow[:-1]])
    total = taken.sum()
    return Jitter(
        seconds=float(total / NS_PER_S),
        quanta=len(taken),
        least_ns=float(least),
        median_ns=float(median),
        p99_ratio=float(p99 / median),
        largest_ns=float(taken.max()),
        lost_share=float((taken[slow] - limit).sum() / total),
        interruptions_per_s=float(begun.sum() / (total / NS_PER_S)),
    )


def timer_finding(found: Timer) -> Finding:
    """What a user is told of the clock."""
    return Finding(
        name="timer",
        state=f"{found.step_ns:.0f} ns between two readings, {found.announced_ns:g} ns announced",
        level="warn" if found.step_ns > COARSE_NS else "ok",
        explanation="Short operators take only a few steps of this clock, so that their times are "
        "coarse; the clock source decides that.",
    )


JITTER_EXPLAINED = (
    "The same work took longer whenever something else had its core or the clock was lower, and "
    "an operator's samples hold the same."
)


def jitter_finding(found: Jitter | None) -> Finding:
    """What a user is told of the test, None if it was not made."""
    if found is None:
        return Finding("jitter", "not measured: --seconds 0", "unknown", JITTER_EXPLAINED)
    noisy = found.lost_share > NEGLIGIBLE or found.p99_ratio > P99_RATIO
    level: Level = "warn" if noisy else "ok"
    state = (
        f"{found.lost_share:.2%} of {found.seconds:.1f} s lost, "
        f"{found.interruptions_per_s:.0f} interruptions a second; 99th percentile "
        f"{found.p99_ratio:.2f} times the median of {found.median_ns / NS_PER_US:.1f} us, "
        f"worst {found.largest_ns / NS_PER_MS:.2f} ms"
    )
    return Finding("jitter", state, level, JITTER_EXPLAINED, BUSIEST if noisy else "")
