"""Compiled programs in the account of a step: the time that is theirs alone, beside that of the
operators that they call.

A call in a compiled program that was timed is an operator that the program calls; one
that was not is fused with others there, and its time is in the program's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opperf.model import Case, CompiledProgram, Program


class OwnTime(NamedTuple):
    """A compiled program, with the time of all of its runs."""

    program: CompiledProgram
    time_ns: float
    """Without that of operators that it calls."""
    alone_ns: float
    """Of the calls that it fuses, as they were measured one by one; 0 if none was."""

    @property
    def ratio(self) -> float:
        """Share of the measured times of the calls that it fuses that they take there at most."""
        return min(1.0, self.time_ns / self.alone_ns) if self.alone_ns else 1.0


def fused_calls(case: Case, program: Program) -> dict[str, int]:
    """Returns the number of a case's calls that are in the times of compiled programs, by name."""
    timed = {made.name for made in program.compiled if made.time_ns is not None}
    found: dict[str, int] = {}
    for site in case.sites:
        if site.program in timed and site.time_ns is None:
            found[site.program] = found.get(site.program, 0) + site.count
    return found


def own_times(
    program: Program,
    cases: Iterable[Case],
    measured: Iterable[tuple[Mapping[str, int], float]],
) -> tuple[OwnTime, ...]:
    """Returns the compiled programs whose time is known, those that take most first. `measured` has
    the fused calls of each measured case, with the time of one in nanoseconds."""
    called: dict[str, float] = {}
    for site in (site for case in cases for site in case.sites):
        called[site.program] = called.get(site.program, 0.0) + (site.time_ns or 0.0)
    alone: dict[str, float] = {}
    for fused, time in measured:
        for name, number in fused.items():
            alone[name] = alone.get(name, 0.0) + number * time
    found = [
        # The clock of a call is in that of the program.
        OwnTime(
            made, max(0.0, made.time_ns - called.get(made.name, 0.0)), alone.get(made.name, 0.0)
        )
        for made in program.compiled
        if made.time_ns is not None
    ]
    return tuple(sorted(found, key=lambda own: (-own.time_ns, own.program.name)))


def total_ns(compiled: Iterable[OwnTime]) -> float:
    """Returns the time of all programs."""
    return math.fsum(own.time_ns for own in compiled)
