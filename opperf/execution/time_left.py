"""The time that is left of a run, by the pace of what was just measured here."""

from __future__ import annotations

import time
from collections.abc import Callable

from opperf.model import Case, Record
from opperf.results.text import duration

MEMORY = 0.05
"""Share of a run's expected time after which what was measured before counts half. A machine that
becomes busy shows in what is said to be left within a tenth of the run."""

LEAST_CASES = 4
"""Cases, of average length, that the memory spans at least: cases differ more than machines."""


class Pace:
    """How many cases are done, and what those that are left take.

    `cost_s` returns the seconds that a case is expected to take, and `total_s` are those of all;
    without them, cases are expected to take the same time each. Only their ratios count. `later_s`
    are the expected seconds of what follows the cases. `starts` is whether each case may begin
    with the start of a process, which is then a part of its time.
    """

    def __init__(
        self,
        total: int,
        total_s: float = 0.0,
        cost_s: Callable[[Case], float] | None = None,
        later_s: float = 0.0,
        starts: bool = False,
    ) -> None:
        self.total, self.done = total, 0
        self._cost_s = cost_s or (lambda case: 1.0)
        self._expected_s = total_s if cost_s else float(total)
        self._later_s, self._starts = later_s, starts
        self._done_s = 0.0
        """Expected seconds of the cases that are done."""
        self._taken_s = self._counted_s = 0.0
        """Seconds that cases took, and that they were expected to take, the latest ones most."""
        self._begun = self._last = time.monotonic()

    @property
    def _mean_s(self) -> float:
        return self._expected_s / max(1, self.total)

    def extend(self, number: int) -> None:
        """Called when more cases follow than planned, which take no longer than others."""
        self._expected_s += number * self._mean_s
        self.total += number

    def end(self, record: Record) -> None:
        """Called after a case."""
        now, cost_s = time.monotonic(), self._cost_s(record.case)
        taken_s = now - self._last
        if not self.done and not self._starts and record.wall_s:
            # A worker's start, which for a counting one takes half a minute, is no case's.
            taken_s = min(taken_s, record.wall_s)
        self.done += 1
        self._last = now
        span_s = max(MEMORY * self._expected_s, LEAST_CASES * self._mean_s)
        kept = 0.5 ** (cost_s / span_s) if span_s else 1.0
        self._taken_s = kept * self._taken_s + taken_s
        self._counted_s = kept * self._counted_s + cost_s
        self._done_s += cost_s

    def left_s(self) -> float:
        """Returns the seconds that are left at the present pace."""
        if not self._counted_s:
            return 0.0
        left_s = max(0.0, self._expected_s - self._done_s) if self.done < self.total else 0.0
        return (left_s + self._later_s) * self._taken_s / self._counted_s

    def text(self) -> str:
        """Returns the elapsed time, and what is left at the present pace."""
        elapsed = f"{duration(time.monotonic() - self._begun)} elapsed"
        if self.done == self.total and not self._later_s:
            return elapsed
        return f"{elapsed}, about {duration(self.left_s())} left"
