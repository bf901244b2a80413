"""Probes of other load on the machine: processes, guests of the hypervisor, memory, and measured
noise: the resolution of the clock and the jitter of repeated work."""

from __future__ import annotations

import time
import warnings
from array import array
from collections.abc import Callable
from functools import partial
from itertools import repeat
from pathlib import Path

import msgspec
import numpy as np
import psutil

from opperf.machine.health.finding import BUSIEST, NEGLIGIBLE, Finding, Level, Probe, Reading
from opperf.machine.kernel import (
    CpuTimes,
    Machine,
    Unreadable,
    format_cpus,
    quota,
    read_text,
    resolution_ns,
)
from opperf.plurals import pluralize

GIB = 2**30
PERCENT = 100

RESTING_LOAD = 0.5
"""Maximum load of an idle machine; one busy thread adds 1."""

RESTING_SHARE = 0.05
"""The same for each usable core: machines with many cores run more housekeeping, and one thread
disturbs an operator less there."""


def load(machine: Machine) -> Reading:
    """Reads the number of running and waiting threads in the last minute."""
    last_minute = psutil.getloadavg()[0]
    usable = len(machine.cpus)
    state = f"{last_minute:.2f} in the last minute, {pluralize(usable, 'usable core')}"
    if last_minute <= max(RESTING_LOAD, RESTING_SHARE * usable):
        return Reading(state)
    return Reading(state, "warn", BUSIEST)


CPU_PRESSURE = 5.0
"""Maximum percentage of the time in which a thread waited for a core. A thread that wakes up waits
a little on every machine; another process that is busy on all cores makes it tens of percent."""


def _pressure(machine: Machine, resource: str, most: float, fix: str) -> Reading:
    """Reads the percentage of the time in which a thread waited for a resource; a warning above
    `most`."""
    path = machine.proc / "pressure" / resource
    for line in read_text(path).splitlines():
        kind, ten_seconds, *_ = line.split()
        if kind == "some":
            share = float(ten_seconds.removeprefix("avg10="))
            state = f"{share:g}% of the last 10 s"
            return Reading(state) if share <= most else Reading(state, "warn", fix)
    raise Unreadable(f"{path} has no line for some threads")


def cpu_pressure(machine: Machine) -> Reading:
    """Reads how much threads waited for a core in the last seconds."""
    return _pressure(machine, "cpu", CPU_PRESSURE, BUSIEST)


LARGEST = "ps -eo rss,pid,args --sort=-rss | head -n 6"


def memory_pressure(machine: Machine) -> Reading:
    """Reads how much threads waited for memory in the last seconds, as they do if it is short."""
    return _pressure(machine, "memory", NEGLIGIBLE * PERCENT, LARGEST)


MIN_AVAILABLE = 0.1
"""Minimum share of the memory that is available: below it, the kernel begins to reclaim pages while
threads wait."""

SWAPPED_BYTES = 256 * 2**20
"""Maximum bytes that a machine with a long uptime swaps out of unused services."""


def memory(machine: Machine) -> Reading:
    """Reads how much memory is available, and how much is swapped out."""
    with warnings.catch_warnings():
        # psutil warns of figures that containers hide, none of which is used here.
        warnings.simplefilter("ignore", RuntimeWarning)
        present, swapped = psutil.virtual_memory(), psutil.swap_memory().used
    total, available = present.total, present.available
    state = f"{available / GIB:.1f} of {total / GIB:.1f} GiB available"
    if swapped:
        state += f", {swapped / GIB:.1f} GiB swapped out"
    if available < MIN_AVAILABLE * total:
        return Reading(state, "warn", LARGEST)
    if swapped > SWAPPED_BYTES:
        return Reading(state, "warn", "sudo swapoff -a && sudo swapon -a")
    return Reading(state)


def cpu_quota(machine: Machine) -> Reading:
    """Reads the quota, and compares it with the number of usable CPUs."""
    limit = quota(machine)
    if limit is None:
        return Reading("none")
    usable = len(machine.cpus)
    short = f"{limit.cpus:g} CPUs for {usable} usable"
    state = short + _throttled(limit.switch.parent)
    if limit.cpus >= usable:
        return Reading(state, short=short)
    if limit.cpus >= 1:
        # Fewer threads than the quota has CPUs never use it up, and taskset needs no privilege.
        fix = f"taskset -cp {format_cpus(sorted(machine.cpus)[: int(limit.cpus)])} $$"
    else:
        switch = Path("/sys") / limit.switch.relative_to(machine.sys)
        fix = f"echo {limit.never} | sudo tee {switch}"
    return Reading(state, "warn", fix, short)


def _throttled(folder: Path) -> str:
    """Returns how often a group had used its quota up, as text."""
    path = folder / "cpu.stat"
    if not path.exists():
        return ""
    counts = dict(line.split() for line in read_text(path).splitlines())
    if "nr_throttled" not in counts:
        return ""
    periods = pluralize(int(counts["nr_periods"]), "period")
    return f", used up in {counts['nr_throttled']} of {periods}"


def cpu_times() -> CpuTimes:
    """Returns the CPU times since boot. Raises `Unreadable`."""
    times = psutil.cpu_times()
    if not hasattr(times, "steal"):
        raise Unreadable("the system does not count stolen time")
    # The time of users includes that of guests.
    ran = times.user + times.nice + times.system + times.irq + times.softirq
    return CpuTimes(ran + times.steal, times.steal)


def steal(machine: Machine) -> Reading:
    """Reads the share of the CPUs' busy time that the hypervisor gave to other guests, since boot
    or since a measurement began."""
    begun = machine.since or CpuTimes(0, 0)
    now = cpu_times()
    busy, stolen = now.busy - begun.busy, now.stolen - begun.stolen
    share = stolen / busy if busy else 0.0
    when = "since boot" if machine.since is None else "during the jitter test"
    return Reading(f"{share:.1%} of the busy time {when}", "warn" if share > NEGLIGIBLE else "ok")


STEAL = Probe(
    "steal",
    steal,
    "The hypervisor ran something else while a CPU of this machine had work to do, and samples "
    "include that time; only dedicated cores or another machine help.",
    persistence="transient",
)

PROBES = (
    Probe(
        "load",
        load,
        "Whatever else runs takes cores from operators that compute on all of them, and one late "
        "thread holds up the whole call.",
        persistence="transient",
    ),
    Probe(
        "cpu_pressure",
        cpu_pressure,
        "Threads that were ready to run had to wait for a core, as an operator's threads will.",
        persistence="transient",
    ),
    Probe(
        "memory",
        memory,
        "With little memory left, or much of it swapped out, pages are fetched from disk in the "
        "middle of a call.",
        persistence="transient",
    ),
    Probe(
        "memory_pressure",
        memory_pressure,
        "Threads had to wait for the kernel to find memory for them, as an operator's will.",
        persistence="transient",
    ),
    Probe(
        "cpu_quota",
        cpu_quota,
        "Once a control group has used up its quota, the kernel stops all of its threads until "
        "the period ends, usually for tens of milliseconds.",
    ),
    STEAL,
)


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
