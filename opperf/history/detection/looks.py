"""Alarms at looks: one rate of false alarms over all series and all commits.

Assumption: p-values are those of `calibration`. A look tests every series that has a point of its
commit; a period has so many looks.
Source: Y. Benjamini and Y. Hochberg (`opperf.statistics.false_discovery`), at each
look; the looks share the rate equally, as Bonferroni's correction does.
Breaks if one commit is checked many times with new points: only the first points of a commit are
counted as a look.

Where nothing changes, every discovery is false, and Benjamini and Hochberg's level is the chance of
any at a look: so many false changes a period as the level times the looks, half of them losses,
which are what raises an alarm. Where series did change, at most that share of the changes is false.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opperf.history.detection.calibration import Null
from opperf.history.detection.findings import Rate
from opperf.history.detection.series import Floats, Ints, Strand
from opperf.history.detection.trends import (
    DAY,
    LINE_EVIDENCE,
    STEP_EVIDENCE,
    STEP_EVIDENCE_LATER,
    check_steps,
)
from opperf.history.detection.windows import AFTER, Looks
from opperf.statistics.false_discovery import level_of_next, reject

MOST_LEVEL = 0.1
"""False-discovery rate of a look, at most: with a look a month, a rate of one false alarm a month
would make every alarm one."""

LEAST_SPAN = 7.0
"""Days of points from which on commits are counted by their times."""

UNKNOWN_LOOKS = 365
"""Commits of a period without times, unless there are more: one on each day of a year."""

CANDIDATE = 1e-3
"""P-value from which on a look is checked for drift."""


def level_of_look(rate: Rate, strands: Sequence[Strand]) -> float:
    """Returns the false-discovery rate of each look: of noise half of the changes are losses."""
    looks = _count_looks(rate, strands)
    return min(MOST_LEVEL, 2 * rate.false_alarms / max(1, looks))


def _count_looks(rate: Rate, strands: Sequence[Strand]) -> int:
    times: dict[int, float] = {}
    # Strands of the same commits share nothing but numbers: a few of the longest have them all.
    for strand in sorted(strands, key=lambda one: -one.positions.size)[:50]:
        times.update(zip(strand.positions.tolist(), strand.times.tolist(), strict=True))
    known = [time for time in times.values() if math.isfinite(time)]
    span = (max(known) - min(known)) / DAY if known else 0.0
    if span < LEAST_SPAN:
        return max(UNKNOWN_LOOKS, len(times))
    return math.ceil(len(times) * rate.days / span)


@dataclass(frozen=True, eq=False)
class Alarm:
    """A look that found a change."""

    strand: int
    seen: int
    split: int
    p: float
    is_rise: bool
    is_known: bool = False
    """Whether an earlier check gave it."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Looks that may be alarms."""

    looks: Looks
    p: Floats
    commits: Ints
    """Positions of the commits that they look at."""
    is_rise: NDArray[np.bool_]

    def alarm(self, i: int) -> Alarm:
        """Returns a look as an alarm."""
        looks = self.looks
        return Alarm(
            int(looks.strand[i]),
            int(looks.seen[i]),
            int(looks.split[i]),
            float(self.p[i]),
            bool(self.is_rise[i]),
        )


class Judge:
    """The p-values that looks need, commit by commit."""

    def __init__(
        self, strands: Sequence[Strand], scale: Floats, null: Null, level: float, smallest: float
    ) -> None:
        self.scale, self.null, self.level = scale, null, level
        self.smallest = math.log1p(smallest)
        self.positions = np.concatenate(
            [*(strand.positions for strand in strands), np.empty(0, dtype=np.int64)]
        )
        self.offsets = np.cumsum([0, *(strand.positions.size for strand in strands)])
        self.needed: dict[int, float] = {}
        """P-value that a further series needs at a commit; in the first round it is found."""
        self.tested: dict[int, int] = {}
        """Series with a look at each commit."""
        self.lines: dict[int, int] = {}
        """Points at the first look that found a line in a strand."""

    def candidates(self, logs: Sequence[Floats], looks: Looks) -> Candidates:
        """Returns the looks whose p-value is small enough to matter, with 1 for those of drift."""
        looks = self.null.few(looks, max(CANDIDATE, self.level))
        p, commits = self.null.p(looks), self._commits(looks)
        # The check raises p-values only: what is not rejected before it is not after it.
        kept = self._may_matter(p, commits)
        looks, p, commits = looks.those(kept), p[kept], commits[kept]
        is_rise = np.zeros(p.size, dtype=np.bool_)
        if looks.strand.size:
            checked = check_steps(logs, self.scale, looks.strand, looks.seen, looks.split)
            is_large = np.abs(checked.shift) * self.scale[looks.strand] >= self.smallest
            first = self._first_line(looks, p, checked.evidence)
            needed = np.where(looks.seen > first, STEP_EVIDENCE_LATER, STEP_EVIDENCE)
            is_step = (checked.evidence >= needed) & checked.is_new & is_large
            p = np.where(is_step, p, 1.0)
            is_rise = checked.shift > 0
        return Candidates(looks, p, commits, is_rise)

    def _may_matter(self, p: Floats, commits: Ints) -> NDArray[np.bool_]:
        """Whether each p-value is at most what its commit needs, as far as that is known: in the
        first round, by Benjamini and Hochberg's correction of these p-values, which are no larger
        than those to come."""
        kept = np.zeros(p.size, dtype=np.bool_)
        for commit, members in _by_commit(commits):
            needed = self.needed.get(commit)
            if needed is None:
                _, needed = _correct(p[members], self.tested.get(commit, 1), self.level)
            kept[members] = p[members] <= needed
        return kept

    def _first_line(self, looks: Looks, p: Floats, evidence: Floats) -> Floats:
        """Returns the points at the first look at each one's strand that would have been an alarm,
        and was clearly nearer to a line; infinite if there was none."""
        least = self.level / max(1, max(self.tested.values(), default=1))
        is_line = (p <= least) & (evidence <= LINE_EVIDENCE)
        for strand, seen in zip(
            looks.strand[is_line].tolist(), looks.seen[is_line].tolist(), strict=True
        ):
            self.lines[strand] = min(seen, self.lines.get(strand, seen))
        return np.array([self.lines.get(strand, np.inf) for strand in looks.strand.tolist()])

    def _commits(self, looks: Looks) -> Ints:
        commits: Ints = self.positions[self.offsets[looks.strand] + looks.seen - 1]
        return commits

    def first_round(self, logs: Sequence[Floats], looks: Looks) -> list[Alarm]:
        """Returns the first alarm of each strand."""
        counts = np.bincount(self._commits(looks))
        self.tested = {int(commit): int(counts[commit]) for commit in np.flatnonzero(counts)}
        found = self.candidates(logs, looks)
        p = found.p
        alarmed: dict[int, Alarm] = {}
        for commit, members in _by_commit(found.commits):
            fresh = np.array([int(found.looks.strand[i]) not in alarmed for i in members])
            members = members[fresh]
            rejected, self.needed[commit] = _correct(p[members], self.tested[commit], self.level)
            for i in members[rejected]:
                alarm = found.alarm(i)
                alarmed[alarm.strand] = alarm
        return list(alarmed.values())

    def next_round(
        self, logs: Sequence[Floats], looks: Looks, after: dict[int, tuple[int, int]]
    ) -> list[Alarm]:
        """Returns the next alarm of strands whose earlier steps were taken away, by what the first
        round found to be needed; `after` has the points that the last alarm saw, and its split."""
        last = np.array([after[strand] for strand in looks.strand.tolist()]).reshape(-1, 2)
        # What is left of a step where it was taken away is not another one.
        is_new = (looks.seen > last[:, 0]) & (looks.split >= last[:, 1] + AFTER)
        found = self.candidates(logs, looks.those(is_new))
        alarmed: dict[int, Alarm] = {}
        for i, commit in enumerate(found.commits.tolist()):
            needed = self.needed.get(commit, self.level / self.tested.get(commit, 1))
            alarm = found.alarm(i)
            earlier = alarmed.get(alarm.strand)
            if alarm.p <= needed and (earlier is None or alarm.seen < earlier.seen):
                alarmed[alarm.strand] = alarm
        return list(alarmed.values())


def _by_commit(commits: Ints) -> Iterator[tuple[int, Ints]]:
    """Yields each commit, in order, and the indices of its looks."""
    order = np.argsort(commits, kind="stable")
    bounds = np.flatnonzero(np.diff(commits[order])) + 1
    for members in np.split(order, bounds) if order.size else []:
        yield int(commits[members[0]]), members


def _correct(p: Floats, tested: int, level: float) -> tuple[NDArray[np.bool_], float]:
    """Which of the small p-values of a look are rejected, and the p-value that one more needs."""
    small = np.count_nonzero(p <= level)
    # The i-th smallest has to be at most i times the level over the number: of none is it.
    if not small or p.min() > level * small / tested:
        return np.zeros(p.size, dtype=np.bool_), level / tested
    whole = np.concatenate([p, np.ones(max(0, tested - p.size))])
    return reject(whole, level)[: p.size], level_of_next(whole, level)
