"""Probes of the processor, and of the settings of this process, which its children inherit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from opperf.machine.health.finding import Reading, probe
from opperf.machine.kernel import (
    Machine,
    Unreadable,
    format_cpus,
    parse_cpus,
    read_number,
    read_text,
    whole_cpus,
)
from opperf.machine.topology import read_cpuinfo
from opperf.plurals import pluralize

NO_FREQUENCIES = "no frequency scaling is visible here, like in most virtual machines"


@probe(has_own_field=True)
def governor(machine: Machine) -> Reading:
    """Any governor but performance lowers the clock of an idle core and raises it late, so that
    calls after a pause are slower than those before it."""
    found = Counter(machine.read_each_cpu("cpufreq/scaling_governor"))
    if not found:
        raise Unreadable(NO_FREQUENCIES)
    if len(found) == 1:
        (state,) = found
    else:
        shares = sorted(found.items())
        state = ", ".join(f"{name} on {pluralize(cpus, 'CPU')}" for name, cpus in shares)
    if set(found) == {"performance"}:
        return Reading(state)
    return Reading(
        state,
        "warn",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )


BOOSTS = (("intel_pstate/no_turbo", "0", "1"), ("cpufreq/boost", "1", "0"))
"""Files that switch the boost, each with its content for on, and for off."""


@probe()
def turbo(machine: Machine) -> Reading:
    """The clock depends on temperature and on how many cores are busy, so that the same call is
    faster on a cool or idle machine."""
    for name, on, off in BOOSTS:
        path = machine.cpu_folder / name
        if path.exists():
            if read_text(path) != on:
                return Reading("off")
            return Reading("on", "warn", f"echo {off} | sudo tee /sys/devices/system/cpu/{name}")
    raise Unreadable(NO_FREQUENCIES)


@probe()
def smt(machine: Machine) -> Reading:
    """Two hardware threads share one core's execution units and caches: a compute thread is slower
    for as long as anything runs on the other."""
    if read_number(machine.cpu_folder / "smt/active") == 0:
        return Reading("off")
    cores = [
        parse_cpus(listed) & machine.cpus
        for listed in machine.read_each_cpu("topology/thread_siblings_list")
    ]
    if not cores:
        raise Unreadable("on, and the kernel does not list the CPUs that share a core")
    if all(len(core) == 1 for core in cores):
        return Reading("on, no two usable CPUs share a core")
    return Reading(
        f"on, {len(machine.cpus)} usable CPUs are {pluralize(len(set(cores)), 'core')}",
        "warn",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )


WITHOUT_SYSTEM_CALL = frozenset(
    {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"}
)
"""Clock sources that a process reads without entering the kernel: counters of the processor, and
pages on which hypervisors say how to scale them."""


@probe()
def clock_source(machine: Machine) -> Reading:
    """A clock that is read through the kernel takes far longer to read than the processor's own
    counter, and samples of a short operator are mostly that."""
    folder = machine.sys / "devices/system/clocksource/clocksource0"
    current = read_text(folder / "current_clocksource")
    if current in WITHOUT_SYSTEM_CALL:
        return Reading(current)
    available = read_text(folder / "available_clocksource").split()
    better = next((name for name in available if name in WITHOUT_SYSTEM_CALL), "")
    if not better:
        return Reading(f"{current}; no better one is available", "warn")
    switch = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Reading(current, "warn", f"echo {better} | sudo tee {switch}")


@probe()
def virtualisation(machine: Machine) -> Reading:
    """Other guests, which cannot be seen from here, share the cores, caches and memory; steal and
    jitter show their cost."""
    flags = read_cpuinfo("flags", machine.proc).split()
    return Reading("virtual machine" if "hypervisor" in flags else "none")


HOT_C = 85
"""Degrees Celsius from which a sensor is hot: processors slow down from about 95 on, which one that
is this warm at rest reaches in a benchmark."""

MILLI = 1000


@probe(persistence="transient")
def temperature(machine: Machine) -> Reading:
    """A hot processor lowers its clock until it is cooler, so that what is measured later is
    slower: let it cool, or switch turbo off."""
    zones = machine.sys.glob("class/thermal/thermal_zone*/temp")
    heats = [(heat, zone.parent) for zone in zones if (heat := _heat_c(zone)) is not None]
    throttled = [
        int(count) for count in machine.read_each_cpu("thermal_throttle/core_throttle_count")
    ]
    if not heats and not throttled:
        raise Unreadable("no sensor is readable, like in most virtual machines")
    state, bad = [], False
    if heats:
        hottest, zone = max(heats)
        state.append(f"{hottest} C at the hottest sensor, {_kind(zone)}")
        bad = hottest >= HOT_C
    if throttled:
        state.append(f"cores were throttled {pluralize(sum(throttled), 'time')} since boot")
        bad = bad or any(throttled)
    return Reading("; ".join(state), "warn" if bad else "ok")


def _heat_c(path: Path) -> int | None:
    """Returns degrees Celsius; None for a sensor of a device that is switched off."""
    try:
        return read_number(path) // MILLI
    except Unreadable:
        return None


def _kind(zone: Path) -> str:
    path = zone / "type"
    return read_text(path) if path.exists() else zone.name


@probe()
def affinity(machine: Machine) -> Reading:
    """Memory of another node takes longer to reach, and which thread runs on which node differs
    between runs."""
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


@probe(has_own_field=True)
def threads(machine: Machine) -> Reading:
    """With more compute threads than cores, threads take turns, and a call waits for those that do
    not run."""
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
    """Returns the number of threads in a setting's value: that of the outermost level, and 0 if it
    is no number, which libraries ignore."""
    first = value.partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


ADDR_NO_RANDOMIZE = 0x0040000
"""Flag of a process without randomized addresses, from linux/personality.h."""


@probe()
def aslr(machine: Machine) -> Reading:
    """Every process has random addresses, which change the use of caches and pages, so that medians
    of the same code differ between runs; with this off, runs agree but show one layout only."""
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


PROBES = (governor, turbo, smt, clock_source, virtualisation, temperature)

OF_PROCESS = (affinity, threads, aslr)
