"""Probes of the processor: clock, cores, temperature."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from opperf.machine.health.finding import Probe, Reading
from opperf.machine.kernel import Machine, Unreadable, parse_cpus, read_number, read_text
from opperf.machine.topology import read_cpuinfo
from opperf.plurals import pluralize

NO_FREQUENCIES = "no frequency scaling is visible here, like in most virtual machines"


def governor(machine: Machine) -> Reading:
    """Reads the governor of every usable CPU, which sets its clock."""
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


def turbo(machine: Machine) -> Reading:
    """Reads whether cores may run at more than their base clock."""
    for name, on, off in BOOSTS:
        path = machine.cpu_folder / name
        if path.exists():
            if read_text(path) != on:
                return Reading("off")
            return Reading("on", "warn", f"echo {off} | sudo tee /sys/devices/system/cpu/{name}")
    raise Unreadable(NO_FREQUENCIES)


def smt(machine: Machine) -> Reading:
    """Reads whether two usable CPUs are hardware threads of one core."""
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


def clock_source(machine: Machine) -> Reading:
    """Reads the source of the clock that times samples."""
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


def virtualisation(machine: Machine) -> Reading:
    """Reads whether this is a virtual machine."""
    flags = read_cpuinfo("flags", machine.proc).split()
    return Reading("virtual machine" if "hypervisor" in flags else "none")


HOT_C = 85
"""Degrees Celsius from which a sensor is hot: processors slow down from about 95 on, which one that
is this warm at rest reaches in a benchmark."""

MILLI = 1000


def temperature(machine: Machine) -> Reading:
    """Reads the highest temperature, and how often heat slowed the processor down."""
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
    """Returns degrees Celsius; None for a sensor that does not answer, such as that of a device
    that is switched off."""
    try:
        return read_number(path) // MILLI
    except Unreadable:
        return None


def _kind(zone: Path) -> str:
    """Returns the type of a thermal zone: what it measures."""
    path = zone / "type"
    return read_text(path) if path.exists() else zone.name


GOVERNOR = Probe(
    "governor",
    governor,
    "Any governor but performance lowers the clock of an idle core and raises it late, so "
    "that calls after a pause are slower than those before it.",
    has_own_field=True,
)

PROBES = (
    GOVERNOR,
    Probe(
        "turbo",
        turbo,
        "The clock depends on temperature and on how many cores are busy, so that the same call "
        "is faster on a cool or idle machine.",
    ),
    Probe(
        "smt",
        smt,
        "Two hardware threads share one core's execution units and caches: a compute thread is "
        "slower for as long as anything runs on the other.",
    ),
    Probe(
        "clock_source",
        clock_source,
        "A clock that is read through the kernel takes far longer to read than the processor's "
        "own counter, and samples of a short operator are mostly that.",
    ),
    Probe(
        "virtualisation",
        virtualisation,
        "Other guests, which cannot be seen from here, share the cores, caches and memory; steal "
        "and jitter show their cost.",
    ),
    Probe(
        "temperature",
        temperature,
        "A hot processor lowers its clock until it is cooler, so that what is measured later is "
        "slower: let it cool, or switch turbo off.",
        persistence="transient",
    ),
)
