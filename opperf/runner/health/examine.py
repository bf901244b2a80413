"""From probes to findings, and to the short form in a run's environment."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.errors import one_line
from opperf.runner.health import contention, process, processor
from opperf.runner.health.finding import Finding, Probe, Reading
from opperf.runner.health.machine import Machine, Unreadable

PROBES: tuple[Probe, ...] = (*processor.PROBES, *contention.PROBES, *process.PROBES)
"""All of them read a few small files and wait for nothing, so that a worker can afford them."""

PASSING = frozenset(probe.name for probe in PROBES if probe.told == "passing")
"""Names of what is of the moment."""


def reading(probe: Probe, machine: Machine) -> Reading:
    """What the probe reads; where it cannot, the reason as the state."""
    try:
        return probe.read(machine)
    except Unreadable as error:
        return Reading(str(error), "unknown")
    except (FileNotFoundError, PermissionError) as error:
        return Reading(f"{error.filename}: {error.strerror}", "unknown")
    except (OSError, ValueError, LookupError) as error:
        # A kernel that writes a file in another form must not keep a run from starting.
        return Reading(f"in no known form: {one_line(str(error))}", "unknown")


def finding(probe: Probe, machine: Machine) -> Finding:
    """What a user is told of one probe."""
    state, level, mend, _ = reading(probe, machine)
    return Finding(probe.name, state, level, probe.explanation, mend)


def examine(machine: Machine, probes: Iterable[Probe] = PROBES) -> list[Finding]:
    """A finding for every probe, in their order."""
    return [finding(probe, machine) for probe in probes]


def short_form(machine: Machine) -> dict[str, str]:
    """What a run's environment tells of the machine, by probe.

    What is of the moment is `ok` unless there is something to say, so that two quiet runs do not
    differ in it. What cannot be read is `unknown`.
    """
    told = {}
    for probe in PROBES:
        if probe.told != "elsewhere":
            found = reading(probe, machine)
            quiet = found.level == "unknown" or (found.level == "ok" and probe.told == "passing")
            told[probe.name] = found.level if quiet else found.short or found.state
    return told
