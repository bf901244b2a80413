"""Runs probes, and makes findings and the short form in a run's environment of them."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.errors import one_line
from opperf.machine import gpus
from opperf.machine.health import contention, processor
from opperf.machine.health.finding import Finding, Probe, Reading
from opperf.machine.kernel import Machine, Unreadable

PROBES: tuple[Probe, ...] = (
    *(*processor.PROBES, *contention.PROBES),
    *(*processor.OF_PROCESS, *gpus.PROBES),
)
"""All of them read a few small files and wait for nothing, so that a worker can afford them."""

TRANSIENT = frozenset(probe.name for probe in PROBES if probe.persistence == "transient")


def take_reading(probe: Probe, machine: Machine) -> Reading:
    """Returns the probe's reading; if it fails, one whose state is the reason."""
    try:
        return probe.read(machine)
    except Unreadable as error:
        return Reading(str(error), "unknown")
    except (FileNotFoundError, PermissionError) as error:
        return Reading(f"{error.filename}: {error.strerror}", "unknown")
    except (OSError, ValueError, LookupError) as error:
        # A kernel that writes a file in another form must not keep a run from starting.
        return Reading(f"not in a known form: {one_line(str(error))}", "unknown")


def examine(machine: Machine, probes: Iterable[Probe] = PROBES) -> list[Finding]:
    """Returns a finding for every probe, in their order."""
    readings = ((probe, take_reading(probe, machine)) for probe in probes)
    return [
        Finding(probe.name, found.state, found.level, probe.explanation, found.fix)
        for probe, found in readings
    ]


def short_form(machine: Machine) -> dict[str, str]:
    """Returns the states for a run's environment, by probe. A transient state is `ok` unless it is
    a warning, so that two quiet runs do not differ in it. One that cannot be read is `unknown`."""
    states = {}
    for probe in PROBES:
        if not probe.has_own_field:
            found = take_reading(probe, machine)
            levels = ("ok", "unknown") if probe.persistence == "transient" else ("unknown",)
            states[probe.name] = (
                found.level if found.level in levels else found.short or found.state
            )
    return states
