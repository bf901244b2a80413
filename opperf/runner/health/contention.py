"""What else uses the machine: other processes, other guests, memory."""

from __future__ import annotations

import warnings

import psutil

from opperf.runner.health.cgroup import cpu_quota
from opperf.runner.health.finding import BUSIEST, NEGLIGIBLE, Probe, Reading
from opperf.runner.health.machine import CpuTimes, Machine, Unreadable, text

GIB = 2**30
PERCENT = 100

RESTING_LOAD = 0.5
"""Load of a machine on which nobody works, at most; one busy thread adds 1."""

RESTING_SHARE = 0.05
"""The same for each usable core: machines of many cores run more housekeeping, and an operator
there feels a single thread less."""


def load(machine: Machine) -> Reading:
    """Threads that ran or wanted to in the last minute, against the usable cores."""
    last_minute = psutil.getloadavg()[0]
    usable = len(machine.cpus)
    state = f"{last_minute:.2f} in the last minute, {usable} usable cores"
    if last_minute <= max(RESTING_LOAD, RESTING_SHARE * usable):
        return Reading(state)
    return Reading(state, "warn", BUSIEST)


CPU_PRESSURE = 5.0
"""Percent of the time in which some thread waited for a core, at most. A thread that wakes up
waits a little on every machine; one other busy process on all cores makes it tens of percent."""


def _pressure(machine: Machine, resource: str) -> float:
    """Percent of the last ten seconds in which some thread waited for the resource."""
    path = machine.proc / "pressure" / resource
    for line in text(path).splitlines():
        kind, ten_seconds, *_ = line.split()
        if kind == "some":
            return float(ten_seconds.removeprefix("avg10="))
    raise Unreadable(f"{path} does not tell it")


def cpu_pressure(machine: Machine) -> Reading:
    """How much threads waited for a core just now."""
    share = _pressure(machine, "cpu")
    state = f"{share:g}% of the last 10 s"
    return Reading(state) if share <= CPU_PRESSURE else Reading(state, "warn", BUSIEST)


LARGEST = "ps -eo rss,pid,args --sort=-rss | head -n 6"
"""Who takes the memory."""


def memory_pressure(machine: Machine) -> Reading:
    """How much threads waited for memory just now; with memory to spare, never."""
    share = _pressure(machine, "memory")
    state = f"{share:g}% of the last 10 s"
    return Reading(state) if share <= NEGLIGIBLE * PERCENT else Reading(state, "warn", LARGEST)


LEAST_AVAILABLE = 0.1
"""Share of the memory that is to be available: below it, the kernel begins to take pages back
while threads wait."""

SWAPPED_BYTES = 256 * 2**20
"""Bytes that a long-lived machine swaps out of services nobody uses, at most."""


def memory(machine: Machine) -> Reading:
    """How much memory is left, and how much had to be moved to disk."""
    with warnings.catch_warnings():
        # Containers may hide figures that are not used here, which psutil warns of.
        warnings.simplefilter("ignore", RuntimeWarning)
        present, swapped = psutil.virtual_memory(), psutil.swap_memory().used
    total, available = present.total, present.available
    state = f"{available / GIB:.1f} of {total / GIB:.1f} GiB available"
    if swapped:
        state += f", {swapped / GIB:.1f} GiB swapped out"
    if available < LEAST_AVAILABLE * total:
        return Reading(state, "warn", LARGEST)
    if swapped > SWAPPED_BYTES:
        return Reading(state, "warn", "sudo swapoff -a && sudo swapon -a")
    return Reading(state)


def cpu_times() -> CpuTimes:
    """What the CPUs have done so far. Raises `Unreadable`."""
    times = psutil.cpu_times()
    if not hasattr(times, "steal"):
        raise Unreadable("the system does not count what a hypervisor takes")
    # The time of guests is in that of users already.
    ran = times.user + times.nice + times.system + times.irq + times.softirq
    return CpuTimes(ran + times.steal, times.steal)


def steal(machine: Machine) -> Reading:
    """How much of the time in which CPUs had something to run the hypervisor gave to others, since
    boot or since a measurement began."""
    begun = machine.since or CpuTimes(0, 0)
    now = cpu_times()
    busy, stolen = now.busy - begun.busy, now.stolen - begun.stolen
    share = stolen / busy if busy else 0.0
    when = "since boot" if machine.since is None else "during the jitter test"
    return Reading(f"{share:.1%} of the busy time {when}", "warn" if share > NEGLIGIBLE else "ok")


STEAL = Probe(
    "steal",
    steal,
    "The hypervisor ran something else while a CPU of this machine had work to do, which "
    "samples cannot tell from their own time; only dedicated cores or another machine mend "
    "that.",
    told="passing",
)

PROBES = (
    Probe(
        "load",
        load,
        "Whatever else runs takes cores from operators that compute on all of them, and one late "
        "thread holds up the whole call.",
        told="passing",
    ),
    Probe(
        "cpu_pressure",
        cpu_pressure,
        "Threads that were ready to run had to wait for a core, as an operator's threads will.",
        told="passing",
    ),
    Probe(
        "memory",
        memory,
        "With little memory left, or much of it on disk, pages are fetched in the middle of a "
        "call.",
        told="passing",
    ),
    Probe(
        "memory_pressure",
        memory_pressure,
        "Threads stood still until the kernel had found memory for them, as an operator's will.",
        told="passing",
    ),
    Probe(
        "cpu_quota",
        cpu_quota,
        "Once a control group has used its quota up, the kernel stops all of its threads until "
        "the period ends, mostly for tens of milliseconds.",
    ),
    STEAL,
)
