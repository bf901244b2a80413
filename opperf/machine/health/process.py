"""Probes of the settings of this process, which its children inherit: cores, threads, addresses."""

from __future__ import annotations

from opperf.machine.cgroup import whole_cpus
from opperf.machine.health.finding import Probe, Reading
from opperf.machine.kernel import Machine, Unreadable, format_cpus, parse_cpus, read_text
from opperf.plurals import pluralize


def affinity(machine: Machine) -> Reading:
    """Reads which CPUs may be used, and on how many memory nodes they are."""
    online = parse_cpus(read_text(machine.cpu_folder / "online"))
    nodes = {
        path.parent.name: parse_cpus(read_text(path)) & machine.cpus
        for path in machine.sys.glob("devices/system/node/node[0-9]*/cpulist")
    }
    spanned = [cpus for _, cpus in sorted(nodes.items()) if cpus]
    count = len(machine.cpus)
    if machine.cpus == online:
        short, listed = f"all of {pluralize(count, 'CPU')}", ""
    else:
        short, listed = f"{count} of {len(online)} CPUs", f", {format_cpus(machine.cpus)}"
    if len(spanned) < 2:
        return Reading(short + listed, short=short)
    largest = max(spanned, key=len)
    spread = f", on {len(spanned)} memory nodes"
    fix = f"taskset -cp {format_cpus(largest)} $$"
    return Reading(short + listed + spread, "warn", fix, short + spread)


COUNTS = "THREADS"
"""End of the names of variables that set a number of threads."""


def threads(machine: Machine) -> Reading:
    """Reads the thread settings, and compares them with the number of cores."""
    most, usable = whole_cpus(machine), len(machine.cpus)
    variables = {name: value for name, value in machine.settings.items() if value is not None}
    state = ", ".join(f"{name}={value}" for name, value in variables.items())
    counts = {
        name: count_threads(value) for name, value in variables.items() if name.endswith(COUNTS)
    }
    excessive = [name for name, count in counts.items() if count > most]
    if excessive:
        fix = "export " + " ".join(f"{name}={most}" for name in excessive)
        return Reading(f"{state}; room for {most}", "warn", fix)
    if not counts and usable > most:
        # Libraries count the cores they may run on, whatever the quota.
        state = "; ".join(
            filter(None, [state, f"{pluralize(usable, 'thread')} each, room for {most}"])
        )
        return Reading(state, "warn", f"export OMP_NUM_THREADS={most}")
    return Reading(state or f"none set: libraries start {pluralize(usable, 'thread')}")


def count_threads(value: str) -> int:
    """Returns the number of threads in a setting's value: that of the outermost level if it has
    several, and 0 if it is no number, which libraries ignore."""
    first = value.partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


ADDR_NO_RANDOMIZE = 0x0040000
"""Flag of a process without randomized addresses, from linux/personality.h."""


def aslr(machine: Machine) -> Reading:
    """Reads whether the addresses of processes are randomized."""
    if read_text(machine.proc / "sys/kernel/randomize_va_space") == "0":
        return Reading("off")
    try:
        personality = int(read_text(machine.proc / "self/personality"), 16)
    except Unreadable:
        # Not every user may read it; the machine's setting then applies.
        personality = 0
    if personality & ADDR_NO_RANDOMIZE:
        return Reading("off for this process")
    return Reading("on", "warn", 'setarch -R "$SHELL"')


PROBES = (
    Probe(
        "affinity",
        affinity,
        "Memory of another node takes longer to reach, and which thread runs on which node differs "
        "between runs.",
    ),
    Probe(
        "threads",
        threads,
        "With more compute threads than cores, threads take turns, and a call waits for those that "
        "do not run.",
        has_own_field=True,
    ),
    Probe(
        "aslr",
        aslr,
        "Every process has random addresses, which change the use of caches and pages, so that "
        "medians of the same code differ between runs; with this off, runs agree but show one "
        "layout only.",
    ),
)
