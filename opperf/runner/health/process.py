"""How this process, and what it starts, is set: its cores, its threads, its addresses."""

from __future__ import annotations

from opperf.results.text import counted
from opperf.runner.health.cgroup import whole_cpus
from opperf.runner.health.finding import Probe, Reading
from opperf.runner.health.machine import Machine, Unreadable, listing_of, numbers_of, text


def affinity(machine: Machine) -> Reading:
    """Which CPUs may be used, and on how many memory nodes they are."""
    online = numbers_of(text(machine.cpu_folder / "online"))
    nodes = {
        path.parent.name: numbers_of(text(path)) & machine.cpus
        for path in machine.sys.glob("devices/system/node/node[0-9]*/cpulist")
    }
    spanned = [cpus for _, cpus in sorted(nodes.items()) if cpus]
    count = len(machine.cpus)
    if machine.cpus == online:
        state = f"all of {counted(count, 'CPU')}"
    else:
        state = f"{count} of {len(online)} CPUs, {listing_of(machine.cpus)}"
    if len(spanned) < 2:
        return Reading(state)
    largest = max(spanned, key=len)
    return Reading(
        f"{state}, on {len(spanned)} memory nodes",
        "warn",
        f"taskset -cp {listing_of(largest)} $$",
    )


COUNTS = "THREADS"
"""How the names of variables end that say how many threads there are to be."""


def threads(machine: Machine) -> Reading:
    """Thread settings, and whether there are more threads than cores for them."""
    most, usable = whole_cpus(machine), len(machine.cpus)
    given = {name: value for name, value in machine.settings.items() if value is not None}
    state = ", ".join(f"{name}={value}" for name, value in given.items())
    counts = {name: _count(value) for name, value in given.items() if name.endswith(COUNTS)}
    excessive = [name for name, count in counts.items() if count > most]
    if excessive:
        mend = "export " + " ".join(f"{name}={most}" for name in excessive)
        return Reading(f"{state}; room for {most}", "warn", mend)
    if not counts and usable > most:
        # Libraries count the cores they may run on, and know nothing of a quota.
        state = "; ".join(filter(None, [state, f"{usable} threads each, room for {most}"]))
        return Reading(state, "warn", f"export OMP_NUM_THREADS={most}")
    return Reading(state or f"none set: libraries start {usable} threads")


def _count(value: str) -> int:
    """Threads that a setting asks for; those of the outermost level where it has several, and
    none where it is no number, as libraries take it."""
    first = value.partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


ADDR_NO_RANDOMIZE = 0x0040000
"""Flag of a process whose addresses are not random, from linux/personality.h."""


def aslr(machine: Machine) -> Reading:
    """Whether processes are laid out in memory anew each time."""
    if text(machine.proc / "sys/kernel/randomize_va_space") == "0":
        return Reading("off")
    try:
        personality = int(text(machine.proc / "self/personality"), 16)
    except Unreadable:
        # Not told to every user: then what holds for the machine holds for the process.
        personality = 0
    if personality & ADDR_NO_RANDOMIZE:
        return Reading("off for this process")
    return Reading("on", "warn", 'setarch -R "$SHELL"')


PROBES = (
    Probe(
        "affinity",
        affinity,
        "Memory of another node takes longer to reach, and which thread computes on which node is "
        "decided anew in every run.",
    ),
    Probe(
        "threads",
        threads,
        "Where there are more compute threads than cores for them, they take turns, and a call "
        "waits for threads that do not run.",
        told="elsewhere",
    ),
    Probe(
        "aslr",
        aslr,
        "Addresses are drawn anew for every process, so that caches and pages fall differently "
        "and medians of the same code differ between runs; without it runs repeat, and show one "
        "layout only.",
    ),
)
