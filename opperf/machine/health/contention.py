"""Probes of other load on the machine: processes, guests of the hypervisor, memory."""

from __future__ import annotations

import warnings
from pathlib import Path

import psutil

from opperf.machine.health.finding import BUSIEST, NEGLIGIBLE, Reading, probe
from opperf.machine.kernel import CpuTimes, Machine, Unreadable, format_cpus, quota, read_text
from opperf.plurals import pluralize

GIB = 2**30
PERCENT = 100

RESTING_LOAD = 0.5
"""Maximum load of an idle machine; one busy thread adds 1."""

RESTING_SHARE = 0.05
"""The same for each usable core: where there are many, more housekeeping runs."""


@probe(persistence="transient")
def load(machine: Machine) -> Reading:
    """Whatever else runs takes cores from operators that compute on all of them, and one late
    thread holds up the whole call."""
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
    """Reads the percentage of time in which a thread waited; a warning above `most`."""
    path = machine.proc / "pressure" / resource
    for line in read_text(path).splitlines():
        kind, ten_seconds, *_ = line.split()
        if kind == "some":
            share = float(ten_seconds.removeprefix("avg10="))
            state = f"{share:g}% of the last 10 s"
            return Reading(state) if share <= most else Reading(state, "warn", fix)
    raise Unreadable(f"{path} has no line for some threads")


@probe(persistence="transient")
def cpu_pressure(machine: Machine) -> Reading:
    """Threads that were ready to run had to wait for a core, as an operator's threads will."""
    return _pressure(machine, "cpu", CPU_PRESSURE, BUSIEST)


LARGEST = "ps -eo rss,pid,args --sort=-rss | head -n 6"


@probe(persistence="transient")
def memory_pressure(machine: Machine) -> Reading:
    """Threads had to wait for the kernel to find memory for them, as an operator's will."""
    return _pressure(machine, "memory", NEGLIGIBLE * PERCENT, LARGEST)


MIN_AVAILABLE = 0.1
"""Minimum available share of the memory: below it, threads wait for pages to be reclaimed."""

SWAPPED_BYTES = 256 * 2**20
"""Maximum bytes that a machine with a long uptime swaps out of unused services."""


@probe(persistence="transient")
def memory(machine: Machine) -> Reading:
    """With little memory left, or much of it swapped out, pages are fetched from disk in the middle
    of a call."""
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


@probe()
def cpu_quota(machine: Machine) -> Reading:
    """Once a control group has used up its quota, the kernel stops all of its threads until the
    period ends, usually for tens of milliseconds."""
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


@probe(persistence="transient")
def steal(machine: Machine) -> Reading:
    """The hypervisor ran something else while a CPU of this machine had work to do, and samples
    include that time; only dedicated cores or another machine help."""
    begun = machine.since or CpuTimes(0, 0)
    now = cpu_times()
    busy, stolen = now.busy - begun.busy, now.stolen - begun.stolen
    share = stolen / busy if busy else 0.0
    when = "since boot" if machine.since is None else "during the jitter test"
    return Reading(f"{share:.1%} of the busy time {when}", "warn" if share > NEGLIGIBLE else "ok")


PROBES = (load, cpu_pressure, memory, memory_pressure, cpu_quota, steal)
