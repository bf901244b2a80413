"""The types of probes, of their readings, and of the findings that users see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from opperf import defaults
from opperf.machine.kernel import Machine

Level = Literal["ok", "warn", "unknown"]
"""`warn`: it makes timings noisy. `unknown`: it could not be read, and the state says why."""

Persistence = Literal["lasting", "transient"]
"""Whether a reading holds for all of a run, or for the moment."""


class Finding(msgspec.Struct, frozen=True):
    """A possible cause of noise, and its state on this machine."""

    name: str
    state: str
    level: Level
    explanation: str
    """Why it matters for timings, in a sentence."""
    fix: str = ""
    """The shell command that fixes it; empty if nothing is wrong, or no command helps."""


class Reading(NamedTuple):
    """State that a probe found on this machine."""

    state: str
    level: Level = "ok"
    fix: str = ""
    short: str = ""
    """The state for a run's environment, if `state` has details that change or are there."""


class Probe(NamedTuple):
    """Reads one possible cause of noise."""

    name: str
    read: Callable[[Machine], Reading]
    """Raises `Unreadable`."""
    explanation: str
    persistence: Persistence = "lasting"
    has_own_field: bool = False
    """Whether `Environment` has a field of its own for it, beside `health`."""


def probe(
    persistence: Persistence = "lasting", has_own_field: bool = False
) -> Callable[[Callable[[Machine], Reading]], Probe]:
    """Makes a probe of a function, whose docstring tells users why it matters."""
    return lambda read: Probe(
        read.__name__, read, " ".join((read.__doc__ or "").split()), persistence, has_own_field
    )


NEGLIGIBLE = defaults.PRECISION / 2
"""Maximum share of the time that may be lost: half of the default precision of medians."""

BUSIEST = "ps -eo pcpu,pid,args --sort=-pcpu | head -n 6"
"""Command that lists the busiest processes."""
