"""The threads that a session measures with: those of the verdicts, and all in a coarse look.

One thread scatters by a third of what all do, so the verdicts have one by default. An operator that
no longer runs in parallel is no slower then: the coarse look finds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from opperf.comparison.ab.arms import ArmSpec, sets_threads
from opperf.machine.kernel import THREAD_VARIABLES
from opperf.model import Case
from opperf.model.declaring import ALL, read_thread_count
from opperf.plurals import pluralize
from opperf.sources.selecting import Selection

COARSE_BLOCKS = 4
"""Blocks of the coarse look. Of ten cases whose blocks scatter by 13 %, one that takes 1.5 times as
long is found in 69 % of the sessions, and one that takes twice as long in 96 %; with three blocks
in 42 % and 93 %, as so few hardly show the scatter (`benchmarks/coarse_simulation.py`)."""

COARSE_TIME_S = 0.05
"""Time that a worker of the coarse look spends on a case, at most: differences between its
processes are far larger than the error of such a median."""


class Threads(NamedTuple):
    """A value of `--threads`."""

    number: int | None
    """Threads that verdicts are measured with; None for the framework's own choice."""
    coarse: bool = False
    """Whether all threads are measured, too, in a coarse look."""

    def __str__(self) -> str:
        shown = ALL if self.number is None else str(self.number)
        return f"{shown},{ALL}" if self.coarse else shown


def read_threads(text: str) -> Threads:
    """Parses `N`, `all` and `N,all`. Raises `ValueError` for anything else."""
    first, comma, second = (part.strip() for part in text.partition(","))
    count = read_thread_count(first)
    if comma and (count is None or second.lower() != ALL):
        raise ValueError(f"{text!r} is not N, all or N,all")
    return Threads(count, coarse=bool(comma))


class ThreadPlan(NamedTuple):
    """The threads of a session."""

    threads: Threads
    """Those of arms that set none themselves."""
    variable: str = ""
    """The inherited variable that sets them instead."""
    why_not_coarse: str = ""
    """Why there is no coarse look, although `--threads` has one."""
    set_by_arm: bool = False
    """Whether an arm sets its own."""

    def __str__(self) -> str:
        count = self.threads.number
        verdicts = f"{ALL} threads" if count is None else pluralize(count, "thread")
        verdicts = f"the threads of {self.variable}" if self.variable else verdicts
        text = f"Verdicts with {verdicts}{' where an arm sets none' if self.set_by_arm else ''}"
        if self.threads.coarse:
            return f"{text}, and a coarse look with {ALL} threads"
        return f"{text}; no coarse look: {self.why_not_coarse}" if self.why_not_coarse else text


def plan_threads(
    threads: Threads,
    explicit: bool,
    arms: Sequence[ArmSpec],
    environment: Mapping[str, str],
    cores: int,
) -> ThreadPlan:
    """The threads of a session. `threads` are those of the option, `explicit` if the user set it;
    `environment` are the inherited variables, and `cores` is how many this process may use.

    An arm's own threads count before the option, the option before an inherited variable, and that
    before the option's default. Where a variable sets them, no setting may, as it would override
    the variable.
    """
    variable = "" if explicit else _variable_in(environment)
    why_not = ""
    if threads.coarse:
        why_not = _why_not_coarse(arms, _variable_in(environment), cores)
    count = None if variable else threads.number
    return ThreadPlan(
        Threads(count, threads.coarse and not why_not),
        variable,
        why_not,
        set_by_arm=any(map(sets_threads, arms)),
    )


def with_threads(selection: Selection, count: int | None) -> Selection:
    """The selection with a number of threads."""
    settings = msgspec.structs.replace(selection.settings, threads=count)
    return msgspec.structs.replace(selection, settings=settings)


def _why_not_coarse(arms: Sequence[ArmSpec], variable: str, cores: int) -> str:
    """Why all threads cannot be measured beside those of the verdicts; empty if they can."""
    if any(map(sets_threads, arms)):
        return "an arm sets its threads"
    if variable:
        return f"{variable} is set"
    return "only one core can be used" if cores < 2 else ""


def _variable_in(environment: Mapping[str, str]) -> str:
    """The first variable that sets a framework's threads; empty if none does."""
    return next((name for name in THREAD_VARIABLES if environment.get(name)), "")


def with_all_threads(case: Case) -> Case:
    """The case as the coarse look measures it."""
    own_s = case.settings.max_time_s
    time_s = COARSE_TIME_S if own_s is None else coarse_time_s(own_s)
    settings = msgspec.structs.replace(case.settings, threads=None, max_time_s=time_s)
    return msgspec.structs.replace(case, settings=settings)


def coarse_time_s(case_time_s: float) -> float:
    """Seconds that the coarse look spends on a case."""
    return min(case_time_s, COARSE_TIME_S)
