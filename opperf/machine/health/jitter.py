"""Measured noise: the resolution of the clock, and the jitter of repeated work."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from functools import partial
from itertools import repeat

import msgspec
import numpy as np

from opperf.machine.health.finding import BUSIEST, NEGLIGIBLE, Finding, Level
from opperf.machine.kernel import resolution_ns
from opperf.plurals import pluralize

QUANTUM_NS = 20_000
"""Minimum time of the repeated work: hundreds of times that of reading the clock, and short enough
that an interruption of ten microseconds stands out."""

CALIBRATING = 50
"""Attempts at each amount of work, of which the fastest counts: the others may have been
interrupted. They take a millisecond at the last amount."""

INTERRUPTED = 1.5
"""Multiple of the fastest quantum's time from which a quantum was interrupted. A clock rate that
falls from boost to base stays below; an interruption of half a quantum does not."""

P99_RATIO = 1.25
"""Maximum ratio of the 99th percentile to the median. Clock rates that vary within their range stay
below; above it an operator's percentiles are the machine's."""

COARSE_NS = 1000
"""Maximum step of a clock that is not coarse: the shortest operators take a few microseconds."""

NS_PER_S = 1e9
NS_PER_US = 1e3
NS_PER_MS = 1e6


class Timer(msgspec.Struct, frozen=True):
    """The resolution of the clock."""

    step_ns: float
    """Smallest difference between two readings."""
    announced_ns: float


class Jitter(msgspec.Struct, frozen=True):
    """How the time of the same work varies."""

    seconds: float
    quanta: int
    least_ns: float
    median_ns: float
    p99_ratio: float
    """99th percentile as a multiple of the median."""
    largest_ns: float
    lost_share: float
    """Share of the time beyond the limit on uninterrupted work."""
    interruptions_per_s: float


def timer() -> Timer:
    """Measures the resolution of the clock that times samples."""
    announced = time.get_clock_info("perf_counter").resolution * NS_PER_S
    return Timer(step_ns=resolution_ns(), announced_ns=announced)


def _spin(rounds: int) -> None:
    """Keeps the processor busy, without memory accesses or system calls."""
    for _ in repeat(None, rounds):
        pass


def make_quantum(clock: Callable[[], int] = time.perf_counter_ns) -> Callable[[], None]:
    """Returns work that takes from one to two `QUANTUM_NS` on this machine."""
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


def repeat_for(
    seconds: float, work: Callable[[], None], clock: Callable[[], int] = time.perf_counter_ns
) -> array[int]:
    """Repeats the work for `seconds`, at least once; the time of each repetition in nanoseconds."""
    end = clock() + round(seconds * NS_PER_S)
    # Eight bytes each, so that a test of minutes takes little memory.
    times = array("q", [_timed(work, clock)])
    while clock() < end:
        times.append(_timed(work, clock))
    return times


def jitter_of(times: array[int]) -> Jitter:
    """Returns the jitter of the times of the same work, at least one, in nanoseconds."""
    taken = np.asarray(times)
    least, median, p99 = taken.min(), np.median(taken), np.percentile(taken, 99)
    limit = INTERRUPTED * least
    slow = taken > limit
    # Consecutive slow quanta are one interruption, which begins at the first.
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
    """Returns the finding on the clock."""
    return Finding(
        name="timer",
        state=f"{found.step_ns:.0f} ns between two readings, {found.announced_ns:g} ns announced",
        level="warn" if found.step_ns > COARSE_NS else "ok",
        explanation="Short operators take only a few steps of this clock, so that their times are "
        "coarse; this depends on the clock source.",
    )


JITTER_EXPLAINED = (
    "The same work took longer whenever something else used its core or the clock was lower, and "
    "an operator's samples vary in the same way."
)


def jitter_finding(found: Jitter | None) -> Finding:
    """Returns the finding on the jitter test; `found` is None if it was not run."""
    if found is None:
        return Finding("jitter", "not measured: --seconds 0", "unknown", JITTER_EXPLAINED)
    noisy = found.lost_share > NEGLIGIBLE or found.p99_ratio > P99_RATIO
    level: Level = "warn" if noisy else "ok"
    state = (
        f"{found.lost_share:.2%} of {found.seconds:.1f} s lost, "
        f"{pluralize(round(found.interruptions_per_s), 'interruption')} a second; 99th percentile "
        f"{found.p99_ratio:.2f} times the median of {found.median_ns / NS_PER_US:.1f} us, "
        f"worst {found.largest_ns / NS_PER_MS:.2f} ms"
    )
    return Finding("jitter", state, level, JITTER_EXPLAINED, BUSIEST if noisy else "")


class Health(msgspec.Struct, frozen=True):
    """The state of a machine, as `doctor --json` has it."""

    findings: list[Finding]
    timer: Timer
    jitter: Jitter | None
    """None if it was not tested."""
