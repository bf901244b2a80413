"""How the processor is set: its clock, its cores, its temperature."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from opperf.results.text import counted
from opperf.runner.health.finding import Probe, Reading
from opperf.runner.health.machine import Machine, Unreadable, number, numbers_of, text

NO_FREQUENCIES = "no frequency scaling is visible here, as in most virtual machines"


def governor(machine: Machine) -> Reading:
    """What decides each core's clock, on every CPU that may be used."""
    found = Counter(machine.of_each_cpu("cpufreq/scaling_governor"))
    if not found:
        raise Unreadable(NO_FREQUENCIES)
    if len(found) == 1:
        (state,) = found
    else:
        shares = sorted(found.items())
        state = ", ".join(f"{name} on {counted(cpus, 'CPU')}" for name, cpus in shares)
    if set(found) == {"performance"}:
        return Reading(state)
    return Reading(
        state,
        "warn",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )


BOOSTS = (("intel_pstate/no_turbo", "0", "1"), ("cpufreq/boost", "1", "0"))
"""Files that switch the boost, with what each has when it is on, and when it is off."""


def turbo(machine: Machine) -> Reading:
    """Whether cores may clock higher than they can for long."""
    for name, on, off in BOOSTS:
        path = machine.cpu_folder / name
        if path.exists():
            if text(path) != on:
                return Reading("off")
            return Reading("on", "warn", f"echo {off} | sudo tee /sys/devices/system/cpu/{name}")
    raise Unreadable(NO_FREQUENCIES)


def smt(machine: Machine) -> Reading:
    """Whether two of the CPUs that may be used are hardware threads of one core."""
    if number(machine.cpu_folder / "smt/active") == 0:
        return Reading("off")
    cores = [
        numbers_of(listed) & machine.cpus
        for listed in machine.of_each_cpu("topology/thread_siblings_list")
    ]
    if not cores:
        raise Unreadable("on, and which CPUs share a core is not told")
    if all(len(core) == 1 for core in cores):
        return Reading("on, no two usable CPUs share a core")
    return Reading(
        f"on, {len(machine.cpus)} usable CPUs are {len(set(cores))} cores",
        "warn",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )


WITHOUT_SYSTEM_CALL = frozenset(
    {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"}
)
"""Clock sources that a process reads without entering the kernel: counters of the processor, and
pages on which hypervisors say how to scale them."""


def clock_source(machine: Machine) -> Reading:
    """What the clock that samples are timed with reads."""
    folder = machine.sys / "devices/system/clocksource/clocksource0"
    current = text(folder / "current_clocksource")
    if current in WITHOUT_SYSTEM_CALL:
        return Reading(current)
    available = text(folder / "available_clocksource").split()
    better = next((name for name in available if name in WITHOUT_SYSTEM_CALL), "")
    if not better:
        return Reading(f"{current}, and there is none better", "warn")
    switch = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Reading(current, "warn", f"echo {better} | sudo tee {switch}")


def virtualisation(machine: Machine) -> Reading:
    """Whether a hypervisor shares the processor out."""
    path = machine.proc / "cpuinfo"
    try:
        with path.open(errors="replace") as lines:
            # Of the first CPU alone: a large machine takes long to write the file to its end.
            flags = next((line.split() for line in lines if line.startswith("flags")), None)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    if flags is None:
        raise Unreadable(f"{path} has no flags of the processor")
    return Reading("virtual machine" if "hypervisor" in flags else "none")


HOT_C = 85
"""Degrees Celsius from which a sensor is called hot: processors slow themselves down from about 95
on, which one that is as warm as this at rest will reach in a benchmark."""

MILLI = 1000


def temperature(machine: Machine) -> Reading:
    """How hot it is inside, and how often that slowed the processor down."""
    zones = machine.sys.glob("class/thermal/thermal_zone*/temp")
    heats = [(heat, zone.parent) for zone in zones if (heat := _heat_c(zone)) is not None]
    throttled = [
        int(count) for count in machine.of_each_cpu("thermal_throttle/core_throttle_count")
    ]
    if not heats and not throttled:
        raise Unreadable("no sensor is readable, as in most virtual machines")
    state, bad = [], False
    if heats:
        hottest, zone = max(heats)
        state.append(f"{hottest} C at the hottest sensor, {_kind(zone)}")
        bad = hottest >= HOT_C
    if throttled:
        state.append(f"cores were throttled {sum(throttled)} times since boot")
        bad = bad or any(throttled)
    return Reading("; ".join(state), "warn" if bad else "ok")


def _heat_c(path: Path) -> int | None:
    """Degrees Celsius; None for a sensor that does not answer, as those of devices that are
    switched off."""
    try:
        return number(path) // MILLI
    except Unreadable:
        return None


def _kind(zone: Path) -> str:
    """What a thermal zone measures."""
    path = zone / "type"
    return text(path) if path.exists() else zone.name


GOVERNOR = Probe(
    "governor",
    governor,
    "Any governor but performance lowers the clock of a core at rest and raises it late, so "
    "that calls after a pause are slower than those before it.",
    told="elsewhere",
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
        "Guests that cannot be seen from here share the cores, caches and memory; steal and "
        "jitter tell what they cost.",
    ),
    Probe(
        "temperature",
        temperature,
        "A hot processor lowers its clock until it is cooler, so that what is measured later is "
        "slower: let it cool, or switch turbo off.",
        told="passing",
    ),
)
