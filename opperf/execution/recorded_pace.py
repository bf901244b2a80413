"""How fast the runs before measured their cases here: kept in the cache, by framework's build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from opperf.execution.cache import cache_file, load, store
from opperf.model import Case, Record, Status
from opperf.model.base import Struct

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
    """By the case's id."""
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
    """Returns the paces of earlier runs of a framework's build; of none if there is no file."""
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
    measured = [record for record in records if record.status is Status.OK and record.wall_s > 0]
    quietest = min(filter(None, (paces.gauge_s, gauge_s)), default=0.0)
    slowed = Paces(gauge_s=quietest).slowed(gauge_s)
    taken = {record.id: record.wall_s / record.rounds for record in measured}
    expected = {record.id: cost_s(record.case) for record in measured}
    cases = paces.cases | {id: taken[id] / expected[id] / slowed for id in taken}
    usual, beside = paces.usual, paces.beside
    if len(taken) >= FEWEST_RECORDS:
        usual = sum(taken.values()) / sum(expected.values()) / slowed
        beside = elapsed_s / sum(record.wall_s for record in records)
    # The latest ones stay.
    return Paces(dict(list(cases.items())[-MOST_CASES:]), usual, beside, quietest)


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
