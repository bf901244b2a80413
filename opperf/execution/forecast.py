"""How long a run takes, before it is measured, by how fast earlier runs measured their cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.defaults import MIN_RUNS, WARMUP_SHARE
from opperf.execution.paces import KINDS, TIMED, Learnt, Paces, Taken, kind_of, times_by_kind
from opperf.execution.progress import Pace
from opperf.model import Case, Record, identity_of
from opperf.model.cases import SettingValues
from opperf.plurals import pluralize
from opperf.results.text import duration

CASE_S = 0.04
"""Seconds of a case beside the calls of its operator: inputs, reading the profiler, memory."""

FIRST_CALLS = 2
"""Calls of a case that are not timed, by their time: the first one, and those that are measured for
memory, of which some are without the backward pass."""

CALL_S, GROWTH, FORWARD_SHARE = 0.0035, 1.3, 0.4
"""Seconds of a call with both passes on a million elements, the power of the elements that they
grow by, and the share of the forward pass: averages of a registry, which say little of a single
case. Forecasts of a registry of 608 operators on two cores are 97 s for --quick, 26 s with --size
small besides, 328 s for -w 2 -r 5; measured were 105, 26 and 330 s."""

WORTH_SAYING_S = 120.0
"""Shortest forecast that is printed: a shorter run is waited for."""

UNCERTAIN = 2.0
"""Ratio of the longest to the shortest that a run may take from which both are said: forecasts of
runs that are known are off by a quarter, and by more on a busy machine."""

MINUTE, HOUR = 60, 3600

NOTHING = Learnt()


PRECISE_CALLS = 50
"""Calls after which a case without a number of them may be precise: for medians to 2 %, half of the
cases of NumPy and PyTorch made 10 to 61. On a busy machine, noise makes it the time limit."""


def case_s(case: Case, is_soon_precise: bool = False) -> float:
    """Returns the seconds that a case is expected to take, at most or if it is soon precise."""
    settings = case.settings
    elements = sum(spec.size for _, spec in case.tensors())
    share = 1.0 if "backward" in case.passes else FORWARD_SHARE
    call_s = share * CALL_S * math.pow(elements / 1e6, GROWTH)
    limits = []
    if settings.max_time_s is not None:
        limits.append(settings.max_time_s * (1 + WARMUP_SHARE))
    if settings.runs is not None:
        limits.append((settings.runs + (settings.warmup or 0)) * call_s)
    if is_soon_precise and settings.runs is None:
        limits.append(PRECISE_CALLS * call_s)
    timed_s = min(limits, default=0.0)
    return CASE_S + FIRST_CALLS * call_s + max(timed_s, MIN_RUNS * call_s)


class Seconds(NamedTuple):
    """How long cases take: the minimum, what is expected, and the maximum."""

    least: float = 0.0
    expected: float = 0.0
    most: float = 0.0


def seconds_of(
    cases: Sequence[Case],
    earlier: Sequence[Record] = (),
    learnt: Learnt = NOTHING,
    gauge_s: float = 0.0,
    lanes: int = 1,
) -> Seconds:
    """Returns how long a run of these cases takes, in so many `lanes` side by side. Earlier records
    correct what is expected of a case: its own one, and of its kind all of them together, if they
    are enough; else what earlier runs here say, by how much slower the machine is now than then,
    which `gauge_s` says."""
    slowed = learnt.slowed(gauge_s)
    records = times_by_kind(earlier, case_s)
    paces = {kind: _paces_now(learnt.of(kind), slowed, records.get(kind, [])) for kind in KINDS}
    found = [_case_seconds(case, paces[kind_of(case)], slowed) for case in cases]
    least, expected, most = (
        sum(seconds) / lanes for seconds in zip(Seconds(), *found, strict=True)
    )
    # What a run takes beside its cases is no part of their paces, and counts once.
    other_s = slowed * (learnt.beside_s + learnt.visit_s * len(cases))
    return Seconds(other_s + least, other_s + expected, other_s + most)


def _paces_now(paces: Paces, slowed: float, records: Sequence[Taken]) -> Paces:
    usual, low, high = (slowed * pace for pace in (paces.usual, paces.low, paces.high))
    cases = {id: slowed * pace for id, pace in paces.cases.items()}
    return Paces(cases, usual, low, high).learn(records, 1.0)


def _case_seconds(case: Case, paces: Paces, slowed: float) -> Seconds:
    expected_s, own = case_s(case), paces.cases.get(case.id)
    if own is not None:
        return Seconds(*(own * expected_s for _ in Seconds._fields))
    if paces.usual:
        return Seconds(paces.low * expected_s, paces.usual * expected_s, paces.high * expected_s)
    # Of a case with a number of calls both are the same.
    soon_s = case_s(case, is_soon_precise=True)
    return Seconds(slowed * soon_s, slowed * expected_s, slowed * expected_s)


def pace_of(cases: Sequence[Case]) -> Pace:
    """Returns the pace of a run of these cases, each of which counts by its expected time."""
    return Pace(len(cases), sum(map(case_s, cases)), case_s)


def quick_cases(cases: Iterable[Case], quick: SettingValues) -> list[Case]:
    """Returns the cases of a run with --quick: the first of each operator and settings."""
    found: dict[tuple[Any, ...], Case] = {}
    for case in cases:
        # The phase is that of the configuration's rule.
        settings = {**identity_of(case.settings), "phase": None}
        found.setdefault((case.target.key, msgspec.json.encode(settings)), case)
    return [
        msgspec.structs.replace(case, settings=msgspec.structs.replace(case.settings, **quick))
        for case in found.values()
    ]


class Forecast(NamedTuple):
    """How long a run takes."""

    cases: int
    seconds: Seconds
    quick_cases: int = 0
    """Number of cases with --quick; 0 if that cannot be chosen."""
    quick_s: float = 0.0
    may_be_precise: bool = False
    """Whether cases end as soon as they are precise."""

    def text(self) -> str:
        """Returns the forecast in one sentence; empty for a short run."""
        least, expected, most = self.seconds
        is_range = most > UNCERTAIN * least
        longest = most if is_range else expected
        if longest <= WORTH_SAYING_S:
            return ""
        takes = rough_duration(longest)
        if is_range:
            condition = ", if its cases are soon precise," if self.may_be_precise else ""
            takes = f"from {rough_duration(least)}{condition} up to {takes}"
        line = f"{pluralize(self.cases, 'case')}: the run takes {takes}"
        if self.quick_s >= longest or not self.quick_cases:
            return line
        return (
            f"{line}; --quick measures {self.quick_cases} of them, the first of each operator, in "
            f"{rough_duration(self.quick_s)}"
        )


def forecast(
    remaining: Sequence[Case],
    rounds: int,
    quick: SettingValues | None,
    earlier: Sequence[Record] = (),
    learnt: Learnt = NOTHING,
    gauge_s: float = 0.0,
    lanes: int = 1,
) -> Forecast:
    """Returns the forecast of the visits that remain. `quick` are the settings of --quick, None if
    it cannot be chosen; `earlier` are records of the run so far, or of files; the others are those
    of `seconds_of`."""
    distinct = list({case.id: case for case in remaining}.values())
    fewer = [] if quick is None else quick_cases(distinct, quick)
    return Forecast(
        cases=len(distinct),
        seconds=seconds_of(remaining, earlier, learnt, gauge_s, lanes),
        quick_cases=len(fewer),
        quick_s=seconds_of(fewer * rounds, (), learnt, gauge_s, lanes).expected if fewer else 0.0,
        may_be_precise=any(kind_of(case) == TIMED for case in distinct),
    )


def rough_duration(seconds: float) -> str:
    """Returns a duration, rounded up to minutes, or to ten of them if it is hours; one of at most
    half a minute is said to be less than one."""
    if seconds <= MINUTE / 2:
        return "less than 1 min"
    unit = MINUTE if seconds <= HOUR else 10 * MINUTE
    rounded = unit * math.ceil(seconds / unit)
    text = f"{rounded // MINUTE} min" if rounded < HOUR else duration(rounded)
    return f"about {text}"
