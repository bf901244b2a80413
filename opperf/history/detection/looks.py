"""Alarms at looks: one rate of false alarms over all series and all commits.

Assumption: p-values are those of `calibration`. A look tests every series that has a point of its
commit; a period has so many looks.
Source: Y. Benjamini and Y. Hochberg (`opperf.comparison.statistics.false_discovery`), at each
look; the looks share the rate equally, as Bonferroni's correction does.
Breaks if one commit is checked many times with new points: only the first points of a commit are
counted as a look.

Where nothing changes, every discovery is false, and Benjamini and Hochberg's level is the chance of
any at a look: so many false alarms a period as the level times the looks. Where series did change,
at most that share of the alarms is false.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opperf.comparison.statistics.false_discovery import level_of_next, reject
from opperf.history.detection.calibration import Null
from opperf.history.detection.findings import Rate
from opperf.history.detection.series import Floats, Ints, Strand
from opperf.history.detection.trends import DAY, STEP_EVIDENCE, STEP_EVIDENCE_LATER, check_steps
from opperf.history.detection.windows import AFTER, Looks

MOST_LEVEL = 0.1
"""False-discovery rate of a look, at most: with a look a month, a rate of one false alarm a month
would make every alarm one."""

LEAST_SPAN = 7.0
"""Days of points from which on commits are counted by their times; of fewer, all are of one."""

CANDIDATE = 1e-3
"""P-value from which on a look is checked for drift."""


def level_of_look(rate: Rate, strands: Sequence[Strand]) -> float:
    """Returns the false-discovery rate of each look."""
    looks = rate.looks or _count_looks(rate, strands)
    return min(MOST_LEVEL, rate.false_alarms / max(1, looks))


def _count_looks(rate: Rate, strands: Sequence[Strand]) -> int:
    times: dict[int, float] = {}
    # Strands of the same commits share nothing but numbers: a few of the longest have them all.
    for strand in sorted(strands, key=lambda one: -one.positions.size)[:50]:
        times.update(zip(strand.positions.tolist(), strand.times.tolist(), strict=True))
    known = [time for time in times.values() if math.isfinite(time)]
    span = (max(known) - min(known)) / DAY if known else 0.0
    if span < LEAST_SPAN:
        return len(times)
    return math.ceil(len(times) * rate.days / span)


@dataclass(frozen=True, eq=False)
class Alarm:
    """A look that found a change."""

    strand: int
    seen: int
    split: int
    p: float


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
        self.drifting: dict[int, int] = {}
        """Points at the first look that found a line in a strand, and no step."""

    def candidates(self, logs: Sequence[Floats], looks: Looks) -> tuple[Looks, Floats, Ints]:
        """Returns the looks whose p-value is small enough to matter, without drift; their p-values,
        and the positions of their commits."""
        looks = self.null.few(looks, max(CANDIDATE, self.level))
        p, commits = self.null.p(looks), self._commits(looks)
        # The check raises p-values only: what is not rejected before it is not after it.
        kept = self._may_matter(p, commits)
        looks, p, commits = looks[kept], p[kept], commits[kept]
        if looks.strand.size:
            checked = check_steps(logs, self.scale, looks.strand, looks.seen, looks.split)
            small = np.abs(checked.shift) * self.scale[looks.strand] < self.smallest
            lowered = Looks(
                looks.strand,
                looks.seen,
                looks.split,
                np.minimum(looks.statistic, checked.statistic),
                looks.is_short,
            )
            first = self._first_line(looks, p, checked.evidence)
            needed = np.where(looks.seen > first, STEP_EVIDENCE_LATER, STEP_EVIDENCE)
            is_step = (checked.evidence >= needed) & checked.is_new & ~small
            p = np.where(is_step, self.null.p(lowered), 1.0)
        return looks, p, commits

    def _may_matter(self, p: Floats, commits: Ints) -> NDArray[np.bool_]:
        """Whether each p-value is at most what its commit needs, as far as that is known: in the
        first round, by Benjamini and Hochberg's correction of these p-values, which are no larger
        than those to come."""
        kept = np.zeros(p.size, dtype=np.bool_)
        order = np.argsort(commits, kind="stable")
        bounds = np.flatnonzero(np.diff(commits[order])) + 1
        for members in np.split(order, bounds) if order.size else []:
            commit = int(commits[members[0]])
            needed = self.needed.get(commit)
            if needed is None:
                _, needed = _correct(p[members], self.tested.get(commit, 1), self.level)
            kept[members] = p[members] <= needed
        return kept

    def _first_line(self, looks: Looks, p: Floats, evidence: Floats) -> Floats:
        """Points at the first look at each one's strand that would have been an alarm, and found a
        line instead; infinite if there was none."""
        least = self.level / max(1, max(self.tested.values(), default=1))
        would = (p <= least) & (evidence < STEP_EVIDENCE)
        for strand, seen in zip(
            looks.strand[would].tolist(), looks.seen[would].tolist(), strict=True
        ):
            self.drifting[strand] = min(seen, self.drifting.get(strand, seen))
        return np.array([self.drifting.get(strand, np.inf) for strand in looks.strand.tolist()])

    def _commits(self, looks: Looks) -> Ints:
        commits: Ints = self.positions[self.offsets[looks.strand] + looks.seen - 1]
        return commits

    def first_round(self, logs: Sequence[Floats], looks: Looks) -> list[Alarm]:
        """Returns the first alarm of each strand."""
        counts = np.bincount(self._commits(looks))
        self.tested = {int(commit): int(counts[commit]) for commit in np.flatnonzero(counts)}
        looks, p, positions = self.candidates(logs, looks)
        alarmed: dict[int, Alarm] = {}
        order = np.argsort(positions, kind="stable")
        bounds = np.flatnonzero(np.diff(positions[order])) + 1
        for members in np.split(order, bounds) if order.size else []:
            commit = int(positions[members[0]])
            fresh = np.array([int(looks.strand[i]) not in alarmed for i in members])
            members = members[fresh]
            rejected, self.needed[commit] = _correct(p[members], self.tested[commit], self.level)
            for i in members[rejected]:
                strand = int(looks.strand[i])
                alarmed[strand] = Alarm(
                    strand, int(looks.seen[i]), int(looks.split[i]), float(p[i])
                )
        return list(alarmed.values())

    def next_round(
        self, logs: Sequence[Floats], looks: Looks, after: dict[int, tuple[int, int]]
    ) -> list[Alarm]:
        """Returns the next alarm of strands whose earlier steps were taken away, by what the first
        round found to be needed; `after` has the points that the last alarm saw, and its split."""
        last = np.array([after[strand] for strand in looks.strand.tolist()]).reshape(-1, 2)
        # What is left of a step where it was taken away is not another one.
        is_new = (looks.seen > last[:, 0]) & (looks.split >= last[:, 1] + AFTER)
        looks, p, positions = self.candidates(logs, looks[is_new])
        found: dict[int, Alarm] = {}
        for i, commit in enumerate(positions.tolist()):
            needed = self.needed.get(commit, self.level / self.tested.get(commit, 1))
            strand = int(looks.strand[i])
            if p[i] <= needed and (strand not in found or looks.seen[i] < found[strand].seen):
                found[strand] = Alarm(strand, int(looks.seen[i]), int(looks.split[i]), float(p[i]))
        return list(found.values())


def _correct(p: Floats, tested: int, level: float) -> tuple[NDArray[np.bool_], float]:
    """Which of the small p-values of a look are rejected, and the p-value that one more needs."""
    small = np.count_nonzero(p <= level)
    # The i-th smallest has to be at most i times the level over the number: of none is it.
    if not small or p.min() > level * small / tested:
        return np.zeros(p.size, dtype=np.bool_), level / tested
    whole = np.concatenate([p, np.ones(max(0, tested - p.size))])
    return reject(whole, level)[: p.size], level_of_next(whole, level)
