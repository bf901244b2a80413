"""Cases of which one call takes longer than the time that a process has for it.

A process makes one sample of such a case. That has no interval of its own; the verdicts need none:
they are made of the scatter of the processes, by block. Where the rehearsal has shown that the
first call of a process takes as long as a later one, it is the sample, and the process makes no
other.

Where the calls of the arms take so different times that no noise explains it, the rehearsal decides
a bisection's step without any block (`LARGE_RATIO`); and where they take about the same, if BAD is
known to take so different a time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opperf.instruments.visit import FewCalls
from opperf.model import Pass, Record, Status, Struct
from opperf.results.figures import CaseFigures
from opperf.statistics.data import BOUND

NS_PER_S = 1e9

LONG_CALL_S = 1.0
"""Seconds from which a call is long: what interrupts a call of a second takes a small part of it,
and the import that a first call may begin with takes less."""

STEADY = 1.1
"""Largest ratio of a process's first call to a later one for the first to be a sample. What it does
once is then less than a tenth, and hides no more of a change than that."""

APART = 2.0
"""Ratio of the arms' calls from which the first call may be a sample of one arm alone: beside it,
the tenth that a first call may take longer changes no verdict."""

LARGE_RATIO = 10.0
"""Ratio of the arms' calls that decides without blocks, where the slower one is long: other
processes on its core and a lower clock make a call take two or three times as long, and a stall
that makes it ten times is over by the next call."""

CALL_SCATTER = 0.1
"""Standard deviation of the ratio of two slow calls, each the fastest of a few, in log units: a
machine that is busy moves them by some percent."""

CALL_FREEDOM = 6.0
"""Degrees of freedom of that, which is no estimate of this machine's: those of a step's four
blocks."""


class ArmCalls(Struct, frozen=True):
    """Times of an arm's calls in the rehearsal."""

    seconds: dict[Pass, float]
    """Of the fastest call, by pass."""
    is_steady: bool = False
    """Whether the first call of the process took as long as a later one."""
    least_s: float | None = None
    """Seconds after which the later call was ended, as it decided by then; None if it was not."""


class SlowPair(Struct, frozen=True):
    """A pair of which a call takes longer than its time in a process, by the rehearsal."""

    arms: dict[str, ArmCalls]
    decided: tuple[Pass, ...] = ()
    """Passes that the rehearsal has decided, and no block measures."""

    @property
    def slowest_s(self) -> float:
        return max(max(calls.seconds.values(), default=0.0) for calls in self.arms.values())

    def few_calls(self, arm: str) -> FewCalls:
        """Returns how a process samples the case of an arm."""
        if self.slowest_s < LONG_CALL_S:
            return FewCalls()
        # A call of a process may be faster than that of the rehearsal.
        first_s = LONG_CALL_S / APART if arm in self._counting_first() else None
        return FewCalls(first_s, is_gauged=False)

    def _counting_first(self) -> Sequence[str]:
        """Returns the arms of which the first call is a sample: all or none, unless they are far
        apart."""
        found = [
            arm
            for arm, calls in self.arms.items()
            if calls.is_steady and calls.seconds.get("forward", 0.0) >= LONG_CALL_S
        ]
        if len(found) == len(self.arms):
            return found
        times = [calls.seconds.get("forward", math.inf) for calls in self.arms.values()]
        return found if max(times) >= APART * min(times) else ()

    def effect(self, name: Pass) -> tuple[float, float, float]:
        """Returns the logarithm of the ratio of B over A by single calls, and its bounds."""
        a, b = self.arms.values()
        effect = math.log(b.seconds[name] / a.seconds[name])
        low, high = (effect + side * BOUND * CALL_SCATTER for side in (-1, 1))
        if b.least_s is not None:
            # The first call may have begun with what later ones do without.
            low = min(low, math.log(b.least_s / a.seconds[name]))
        return effect, low, high


class Visits(NamedTuple):
    """The records of an arm's visits in a rehearsal, in order, each of one call or two."""

    records: tuple[Record, ...]
    main: Record
    """That which has the case's verification, if it has one."""
    least_s: float | None = None
    """As `ArmCalls.least_s`."""

    @property
    def calls(self) -> ArmCalls:
        every = [seconds_of(record) for record in self.records]
        names = dict.fromkeys(name for times in every for name in times)
        forward = [times["forward"] for times in every if "forward" in times]
        return ArmCalls(
            {name: min(times[name] for times in every if name in times) for name in names},
            len(forward) > 1 and forward[0] <= STEADY * forward[1],
            self.least_s,
        )


def seconds_of(record: Record) -> dict[Pass, float]:
    """Returns the seconds of a call, by pass that has a time."""
    found = CaseFigures(record).measured if record.status is Status.OK else {}
    return {name: found[name].median / NS_PER_S for name in record.case.passes if name in found}


def is_long(record: Record) -> bool:
    """Whether the forward pass was one long call, the first of the visit."""
    return seconds_of(record).get("forward", 0.0) >= LONG_CALL_S


def slow_pair(
    arms: Mapping[str, ArmCalls],
    passes: Sequence[Pass],
    case_time_s: float,
    decided: tuple[Pass, ...] = (),
) -> SlowPair | None:
    """Returns what is kept of a pair of which a call of a pass is longer than the time that the
    pass has in a process; None of any other."""
    found = SlowPair(dict(arms), tuple(name for name in passes if name in decided))
    return found if found.slowest_s > case_time_s / len(passes) else None


def is_same(effect: float) -> bool:
    """Whether calls with this logarithm of their ratio take about the same time."""
    return abs(effect) < math.log(APART)


def decided_passes(a: Visits, b: Visits, loss: float) -> list[Pass]:
    """Returns the passes that are decided: their calls are so far apart; or close, and those of BAD
    and GOOD are known to be far apart by the logarithm of their ratio, `loss`."""
    found = large_ratios(a, b)
    if abs(loss) >= math.log(LARGE_RATIO):
        times = a.calls.seconds, b.calls.seconds
        for name in times[0].keys() & times[1].keys():
            one, other = (own[name] for own in times)
            # Noise makes a call longer only, so that one as fast as GOOD's is none of BAD's.
            if min(one, other) > 0 and is_same(math.log(other / one)):
                found.append(name)
    return found


def large_ratios(a: Visits, b: Visits) -> list[Pass]:
    """Returns the passes whose calls are so far apart that they are decided."""
    times, found = {"A": a, "B": b}, []
    for name in a.calls.seconds.keys() & b.calls.seconds.keys():
        fast, slow = sorted(times, key=lambda arm: times[arm].calls.seconds[name])
        fast_s, slow_s = (times[arm].calls.seconds[name] for arm in (fast, slow))
        is_large = slow_s >= max(LONG_CALL_S, LARGE_RATIO * fast_s)
        # A long call was followed by another one, which took long too.
        was_repeated = times[slow].least_s is not None or len(times[slow].records) > 1
        if is_large and fast_s > 0 and was_repeated:
            found.append(name)
    return found


def deciding_s(a: Visits, first: Record) -> float | None:
    """Returns the seconds after which a later call of B decides that it takes longer than those of
    A, as its first call does; None if that does not, or it has more than one pass or a
    verification."""
    seconds = a.calls.seconds
    if first.case.passes != ("forward",) or first.case.settings.verify or "forward" not in seconds:
        return None
    least_s = max(LONG_CALL_S, LARGE_RATIO * seconds["forward"])
    return least_s if seconds_of(first).get("forward", 0.0) >= least_s else None
