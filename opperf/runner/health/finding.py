"""What a probe reads, and what a user is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from opperf import defaults
from opperf.runner.health.machine import Machine

Level = Literal["ok", "warn", "unknown"]
"""`warn`: it makes timings noisy. `unknown`: it could not be read, and the state says why."""

Told = Literal["lasting", "passing", "elsewhere"]
"""How a run's environment tells of something: as a fact that holds for all of a run, as one of
the moment, or in a field of its own."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that may make timings noisy."""

    name: str
    state: str
    level: Level
    explanation: str
    """Why it matters for timings, in a sentence."""
    mend: str = ""
    """The shell command that mends it; empty where nothing is to be mended or none would."""


class Reading(NamedTuple):
    """How something stands on this machine."""

    state: str
    level: Level = "ok"
    mend: str = ""
    short: str = ""
    """The state for a run's environment, where `state` has more than will hold for all of it."""


class Probe(NamedTuple):
    """How to find out about one thing, and why it matters."""

    name: str
    read: Callable[[Machine], Reading]
    """Raises `Unreadable`."""
    explanation: str
    told: Told = "lasting"


NEGLIGIBLE = defaults.PRECISION / 2
"""Share of the time that may be lost: half of how well medians are known unless more is asked
for, so that it does not decide what they are."""

BUSIEST = "ps -eo pcpu,pid,args --sort=-pcpu | head -n 6"
"""Who takes the processor's time: what to stop, or to wait for."""
