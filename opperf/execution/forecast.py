"""How long a run takes, before it is measured, by how fast earlier runs measured their cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.defaults import MIN_RUNS, WARMUP_SHARE
from opperf.execution.cache import cache_file, load, store
from opperf.execution.progress import Pace
from opperf.model import Case, Record, Status, identity_of
from opperf.model.base import Struct
from opperf.plurals import pluralize
from opperf.results.text import duration

KIND = "pace"

FEWEST_RECORDS = 20
"""Fewest records that say something of other cases: times of cases differ a thousandfold."""

MOST_CASES = 20_000
"""Most cases whose pace is kept: those of several whole registries, in about a megabyte."""

MOST_SLOWED = 4.0
"""Most that the gauge counts: beyond it, cases end by their time limit."""


class Paces(Struct, frozen=True):
    """Seconds that cases took over those expected, at the pace of the quiet machine."""

    cases: dict[str, float] = {}
    usual: float = 0.0
    """Of all cases of a run; 0 if there was none that is long enough."""
    beside: float = 1.0
    """Seconds of a whole run over those of its cases: starts of workers, second measurements."""
    gauge_s: float = 0.0
    """Seconds of the gauge on the quiet machine; 0 if it was never read."""

    def slowed(self, gauge_s: float) -> float:
        """Returns the factor by which the machine is slower than when it was quiet."""
        if not self.gauge_s or not gauge_s:
            return 1.0
        return min(MOST_SLOWED, max(1.0, gauge_s / self.gauge_s))


def load_paces(framework: str) -> Paces:
    """Returns the paces of earlier runs of a framework's build."""
    # A file that cannot be read is made again after the run, and said by nobody: it only forecasts.
    return load(cache_file(KIND, framework), Paces)[0] or Paces()


def learn(
    paces: Paces,
    records: Sequence[Record],
    elapsed_s: float,
    gauge_s: float,
    cost_s: Callable[[Case], float],
) -> Paces:
    """Returns the paces with those of a run's records."""
    taken, expected = _times(records, cost_s)
    quietest = min(filter(None, (paces.gauge_s, gauge_s)), default=0.0)
    slowed = Paces(gauge_s=quietest).slowed(gauge_s)
    cases = paces.cases | {id: taken[id] / expected[id] / slowed for id in taken}
    usual, beside = paces.usual, paces.beside
    if len(taken) >= FEWEST_RECORDS:
        usual = sum(taken.values()) / sum(expected.values()) / slowed
        beside = elapsed_s / sum(record.wall_s for record in records)
    # The latest ones stay.
    return Paces(dict(list(cases.items())[-MOST_CASES:]), usual, beside, quietest)


def _times(
    records: Iterable[Record], cost_s: Callable[[Case], float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the seconds that a round of each case took, and was expected to take."""
    measured = [record for record in records if record.status is Status.OK and record.wall_s > 0]
    return (
        {record.id: record.wall_s / record.rounds for record in measured},
        {record.id: cost_s(record.case) for record in measured},
    )


def keep_paces(
    records: Iterable[Record], elapsed_s: float, gauge_s: float, cost_s: Callable[[Case], float]
) -> list[str]:
    """Adds a run's records to the paces in the cache; returns warnings if that fails."""
    by_framework: dict[str, list[Record]] = {}
    for record in records:
        by_framework.setdefault(record.case.target.framework, []).append(record)
    if len(by_framework) != 1:
        # How much of the elapsed time is whose, nobody knows.
        return []
    ((framework, own),) = by_framework.items()
    learnt = learn(load_paces(framework), own, elapsed_s, gauge_s, cost_s)
    return store(cache_file(KIND, framework), learnt, "the pace of the run")


CASE_S = 0.04
"""Seconds of a case beside the calls of its operator: inputs, reading the profiler, memory."""

FIRST_CALLS = 2
"""Calls of a case that are not timed, by their time: the first one, and those that are measured for
memory, of which some are without the backward pass."""

CALL_S, GROWTH, FORWARD_SHARE = 0.0035, 1.3, 0.4
"""Seconds of a call with both passes on a million elements, the power of the elements that they
grow by (products of matrices take longer per element if larger), and the share of the forward pass.
They are averages of a registry: of a single case they say little. With them, the forecasts of
a registry of 608 operators on two cores are 97 s for --quick, 26 s with --size small besides, 328 s
for -w 2 -r 5; measured were 105, 26 and 330 s. Runs of large inputs may take twice their
forecast."""

WORTH_SAYING_S = 120.0
"""Shortest forecast that is printed: a shorter run is waited for."""

MINUTE, HOUR = 60, 3600

NO_PACES = Paces()


PRECISE_CALLS = 50
"""Calls after which a case without a number of them may be precise: for medians to 2 %, half of the
cases of NumPy and PyTorch made 10 to 61. On a busy machine, noise makes it the time limit."""


def case_s(case: Case, is_soon_precise: bool = False) -> float:
    """Returns the seconds that a case is expected to take: without a number of calls at most, or if
    it is soon precise."""
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


def total_s(
    cases: Iterable[Case],
    earlier: Sequence[Record] = (),
    paces: Paces = NO_PACES,
    gauge_s: float = 0.0,
) -> float:
    """Returns the seconds that cases are expected to take. Earlier records correct them: a case's
    own one, and all of them together the others, if they are enough; else the paces of earlier runs
    here, by how much slower the machine is now."""
    taken, expected = _times(earlier, case_s)
    slowed = paces.slowed(gauge_s)
    usual = slowed * (paces.usual or 1.0)
    if len(taken) >= FEWEST_RECORDS:
        usual = sum(taken.values()) / sum(expected.values())
    factors = {id: slowed * pace for id, pace in paces.cases.items()}
    factors |= {id: taken[id] / expected[id] for id in taken}
    return paces.beside * sum(case_s(case) * factors.get(case.id, usual) for case in cases)


def pace_of(cases: Sequence[Case]) -> Pace:
    """Returns the pace of a run of these cases, each of which counts by its expected time."""
    return Pace(len(cases), sum(map(case_s, cases)), case_s)


def quick_cases(cases: Iterable[Case], quick: Mapping[str, Any]) -> list[Case]:
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
    seconds: float
    least_s: float | None
    """Seconds of a run whose cases are soon precise, where no run here says when they are; None of
    one that is known, or has a number of calls."""
    quick_cases: int = 0
    """Number of cases with --quick; 0 if that cannot be chosen."""
    quick_s: float = 0.0

    def text(self) -> str:
        """Returns the forecast in one sentence; empty for a short run."""
        if self.seconds <= WORTH_SAYING_S:
            return ""
        takes = f"about {rough_duration(self.seconds)}"
        if self.least_s is not None:
            takes = (
                f"from about {rough_duration(self.least_s)}, if its cases are soon precise, up to "
                f"{takes}"
            )
        line = f"{pluralize(self.cases, 'case')}: the run takes {takes}"
        if self.quick_s >= self.seconds or not self.quick_cases:
            return line
        return (
            f"{line}; --quick measures {self.quick_cases} of them, the first of each operator, in "
            f"about {rough_duration(self.quick_s)}"
        )


def forecast(
    remaining: Sequence[Case],
    rounds: int,
    quick: Mapping[str, Any] | None,
    earlier: Sequence[Record] = (),
    paces: Paces = NO_PACES,
    gauge_s: float = 0.0,
) -> Forecast:
    """Returns the forecast of the visits that remain. `quick` are the settings of --quick, None if
    it cannot be chosen; `earlier` are records of the run so far, or of files."""
    distinct = list({case.id: case for case in remaining}.values())
    fewer = [] if quick is None else quick_cases(distinct, quick)
    is_limit = not paces.usual and any(case.settings.runs is None for case in distinct)
    soon_s = sum(case_s(case, is_soon_precise=True) for case in remaining)
    return Forecast(
        cases=len(distinct),
        seconds=total_s(remaining, earlier, paces, gauge_s),
        least_s=soon_s if is_limit else None,
        quick_cases=len(fewer),
        quick_s=rounds * total_s(fewer, (), msgspec.structs.replace(paces, cases={}), gauge_s),
    )


def rough_duration(seconds: float) -> str:
    """Returns a duration, rounded up to minutes, or to ten of them if it is hours."""
    unit = MINUTE if seconds <= HOUR else 10 * MINUTE
    rounded = unit * math.ceil(seconds / unit)
    return f"{rounded // MINUTE} min" if rounded < HOUR else duration(rounded)
