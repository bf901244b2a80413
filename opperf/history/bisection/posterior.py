"""Where a loss began, as probabilities over commits, and which commit to measure next.

A measurement of a commit against GOOD is an estimate with a standard error, and may be wrong. So no
answer removes commits for good, as that of a plain binary search does: each multiplies the
probability of every commit by how likely it is if that commit was the first bad one, and the search
may return to a commit it has measured. It ends once one commit has the asked probability.

Assumption: one commit changed the figure, from GOOD's level to BAD's; estimates scatter as
Student's t around the level of their commit, besides an offset of each build that is the same
whenever the build is measured.
Source: M. Horstein, Sequential transmission using noiseless feedback, IEEE Trans. Information
Theory 9 (1963); R. Waeber, P. I. Frazier and S. G. Henderson, Bisection search with noisy
responses, SIAM J. Control and Optimization 51 (2013).
Breaks when several commits share the change: their levels lie between the two, and `misfits` names
such commits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, poch

Floats = NDArray[np.float64]

BUILD_SCATTER = 0.01
"""Standard deviation of what two builds of the same code differ by, in log units: where a function
lies moves its time by about one percent, however long it is measured."""

CONFIDENCE = 0.95
"""Probability of the answer: the field's convention."""

LEVELS = 81
"""Points of a level's grid: some ten for each standard error of a usual step."""

REACH = 5.0
"""Half-width of a grid, in standard deviations."""

SMALLEST_GAIN = 1e-4
"""Share of a doubtful commit's probability that a step has to settle: below, the offset of its
build hides what further steps could tell."""

PRIOR_FREEDOM = 12.0
"""Most degrees of freedom that the scatter of all steps has in that of one: three steps' worth, so
that a step on a busy machine keeps its own."""

MISFIT = 3.0
"""Standard deviations from both levels at which a commit does not fit in."""


class Estimate(NamedTuple):
    """A commit's change against GOOD, in log units: positive towards BAD's."""

    effect: float
    error: float
    """Standard error."""
    freedom: float
    """Degrees of freedom of the standard error."""
    blocks: float = 1.0
    """Blocks of the mean; of counts, which have no scatter to share, 1."""

    @property
    def variance(self) -> float:
        """Of one block."""
        return self.error**2 * self.blocks


class Answer(NamedTuple):
    """The first bad commit, as far as it is known: one of the positions `first` to `last`."""

    first: int
    last: int
    probability: float


@dataclass
class Search:
    """The search among the commits 1 to `last`, of which `last` is BAD; 0 is GOOD."""

    last: int
    build_scatter: float = BUILD_SCATTER
    confidence: float = CONFIDENCE
    estimates: dict[int, list[Estimate]] = field(default_factory=dict)
    """By position; that of BAD is needed before the first question."""
    skipped: set[int] = field(default_factory=set)
    """Positions that cannot be measured."""

    def pooled(self) -> dict[int, Estimate]:
        """Returns one estimate for each measured position. Few blocks say little of their scatter:
        each has its own combined with the median of all steps, which are of one case on one
        machine; a step while the machine was busy does not change that of the others."""
        every = [estimate for found in self.estimates.values() for estimate in found]
        freedom = math.fsum(estimate.freedom for estimate in every)
        common = median(estimate.variance for estimate in every)
        prior = min(freedom, PRIOR_FREEDOM)
        return {
            place: _pool([_moderate(estimate, common, prior) for estimate in found])
            for place, found in self.estimates.items()
        }

    def add(self, position: int, estimate: Estimate) -> None:
        self.estimates.setdefault(position, []).append(estimate)

    def probabilities(self) -> dict[int, float]:
        """Returns, for each position that can be measured, the probability that the first bad
        commit is it or one of the skipped ones before it, which nothing can tell from it."""
        places = [place for place in range(1, self.last + 1) if place not in self.skipped]
        pooled = self.pooled()
        sizes = np.diff([0, *places]).astype(np.float64)
        good, bad = self._levels(pooled)
        seen = [pooled.get(place) for place in places]
        logs = np.log(sizes) + _of_levels(seen, *good, self.build_scatter, below=True)
        logs += _of_levels(seen, *bad, self.build_scatter, below=False)
        shares = np.exp(logs - logsumexp(logs))
        return dict(zip(places, map(float, shares), strict=True))

    def _levels(
        self, pooled: Mapping[int, Estimate]
    ) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Returns the grids of both levels, each with the logarithm of its prior. The good one is
        GOOD's, whose own build has an offset; the bad one is anything near BAD's estimate."""
        end = pooled[self.last]
        near = max(self.build_scatter, SMALLEST_SCATTER)
        good = np.linspace(-REACH * near, REACH * near, LEVELS)
        reach = REACH * scale_of(end, self.build_scatter)
        bad = np.linspace(max(end.effect - reach, end.effect / 4), end.effect + reach, LEVELS)
        prior = -0.5 * (good / near) ** 2
        return (good, prior - logsumexp(prior)), (bad, np.full(LEVELS, -math.log(LEVELS)))

    def answer(self) -> Answer:
        """Returns the smallest range of commits that has the asked probability."""
        shares = self.probabilities()
        places = list(shares)
        found = []
        for start, before in enumerate([0, *places[:-1]]):
            total = 0.0
            for place in places[start:]:
                total += shares[place]
                if total >= self.confidence:
                    found.append(Answer(before + 1, place, total))
                    break
        return min(
            found,
            key=lambda answer: (answer.last - answer.first, -answer.probability),
            # Rounding may leave the sum of all below 1.
            default=Answer(1, self.last, 1.0),
        )

    @property
    def is_settled(self) -> bool:
        """Whether one testable position has the asked probability."""
        return max(self.probabilities().values()) >= self.confidence

    def choose(self) -> int | None:
        """Returns the position to measure next: that of which a step settles most of what is open.
        None once it is settled, and where no further step can tell."""
        shares = self.probabilities()
        if max(shares.values()) >= self.confidence:
            return None
        pooled = self.pooled()
        size = pooled[self.last].effect
        errors = [estimate.error for found in self.estimates.values() for estimate in found]
        step = float(np.median(errors))
        total, best, most = 0.0, None, SMALLEST_GAIN
        for place, share in shares.items():
            total += share
            if place == self.last:
                continue
            gain = min(total, 1 - total) * _settled(pooled.get(place), step, size, self)
            if gain > most:
                best, most = place, gain
        return best

    def loss(self, position: int) -> tuple[float, float]:
        """Returns the mean difference of the commits from `position` on from those before it, among
        which is GOOD, and its standard error."""
        sides: tuple[list[tuple[float, float]], ...] = (
            [(0.0, max(self.build_scatter, SMALLEST_SCATTER))],
            [],
        )
        for place, estimate in self.pooled().items():
            sides[place >= position].append(
                (estimate.effect, scale_of(estimate, self.build_scatter))
            )
        (before, error), (after, other) = map(_mean, sides)
        return after - before, math.hypot(error, other)

    def misfits(self, position: int) -> list[int]:
        """Returns the measured positions whose estimate is far from the level of their side, if
        `position` is the first bad one."""
        pooled = self.pooled()
        good = median(
            [0.0, *(estimate.effect for place, estimate in pooled.items() if place < position)]
        )
        bad = median([estimate.effect for place, estimate in pooled.items() if place >= position])
        found = []
        for place, estimate in sorted(pooled.items()):
            level = bad if place >= position else good
            if abs(estimate.effect - level) > MISFIT * scale_of(estimate, self.build_scatter):
                found.append(place)
        return found


SMALLEST_SCATTER = 1e-4
"""Scatter of builds whose instructions are counted, of which nothing moves a figure but code."""


def _mean(found: Sequence[tuple[float, float]]) -> tuple[float, float]:
    weights = [error**-2 for _, error in found]
    total = math.fsum(weights)
    mean = math.fsum(w * value for w, (value, _) in zip(weights, found, strict=True)) / total
    return mean, total**-0.5


def _moderate(estimate: Estimate, common: float, prior: float) -> Estimate:
    freedom = estimate.freedom + prior
    variance = (estimate.freedom * estimate.variance + prior * common) / freedom
    return estimate._replace(error=math.sqrt(variance / estimate.blocks), freedom=freedom)


def _pool(found: Sequence[Estimate]) -> Estimate:
    """Returns several estimates of one build as one, each weighted by its precision."""
    mean, error = _mean([(estimate.effect, estimate.error) for estimate in found])
    # What they have of the common scatter counts once.
    freedom = max(estimate.freedom for estimate in found)
    return Estimate(mean, error, freedom, math.fsum(estimate.blocks for estimate in found))


def scale_of(estimate: Estimate, build_scatter: float) -> float:
    """Returns the standard deviation of an estimate around the level of its side."""
    return math.hypot(estimate.error, build_scatter)


def _freedom(estimate: Estimate, build_scatter: float) -> float:
    share = (scale_of(estimate, build_scatter) / estimate.error) ** 4
    return estimate.freedom * share


def _log_density(values: Floats, freedom: float) -> Floats:
    """Returns the logarithm of the density of Student's t, as `scipy.stats` does, which takes half
    a second to import."""
    at_zero = math.log(poch(0.5 * freedom, 0.5)) - 0.5 * math.log(freedom * math.pi)
    return np.asarray(at_zero - (freedom + 1) / 2 * np.log1p(values * values / freedom))


def _of_levels(
    seen: Sequence[Estimate | None], grid: Floats, prior: Floats, build_scatter: float, below: bool
) -> Floats:
    """Returns, for each testable position as the first bad one, the logarithm of how likely the
    estimates of the positions on one side of it are, whatever the level of that side is."""
    logs = np.zeros((len(seen), grid.size))
    for row, estimate in enumerate(seen):
        if estimate is not None:
            scale = scale_of(estimate, build_scatter)
            distances = (estimate.effect - grid) / scale
            logs[row] = _log_density(distances, _freedom(estimate, build_scatter)) - math.log(scale)
    if below:
        sums = np.vstack([np.zeros(grid.size), logs[:-1].cumsum(axis=0)])
    else:
        sums = logs[::-1].cumsum(axis=0)[::-1]
    return np.asarray(logsumexp(sums + prior, axis=1))


def _settled(before: Estimate | None, step: float, size: float, search: Search) -> float:
    """Returns the share of a doubt that a step at a commit settles: one less Bhattacharyya's
    overlap of both sides' distributions of what the step adds."""
    scatter = search.build_scatter
    known = 0.0 if before is None else scale_of(before, scatter) ** -2
    error = step if before is None else (before.error**-2 + step**-2) ** -0.5
    added = math.hypot(error, scatter) ** -2 - known
    return -math.expm1(-(size**2) / 8 * added)
