"""Decisions of cases, look by look: changed, same, or not yet decided.

Several comparisons of a session, such as those of B and of C with A, are decided together: each has
its own state and moderated variances, and the correction is over the cases of all.

Looks are taken after fixed numbers of blocks (`Thresholds.looks`). At each, two hypotheses are
tested for every case that needs more blocks, with moderated variances: that its ratio is within the
threshold (`paired_t.p_beyond`), and that it is beyond `same_within` (`paired_t.p_within`). Of
the first, the smallest of all sequential p-values (`spending`) counts; of the second, that of the
look. A case has changed if Benjamini and Hochberg's correction over all cases rejects the first, at
`changed_q`, and its latest estimate is still beyond the threshold, on the side on which its
smallest p-value was found; it is the same if the second is rejected at `same_level` and it has not
changed.

A case is decided once it has changed, or is the same and its estimate is within the threshold: one
between the threshold and `same_within` is still measured, as it may have changed. A decided case
keeps its estimate and its p-values, and is measured no more.

Sequential p-values: tests that may be looked at several times.

Assumption: the estimates of successive looks are means of independent blocks, so that those of
looks i and j have a correlation of sqrt(n_i / n_j). A level alpha is spent over the looks by the
function of Hwang, Shih and DeCani; the sequential p-value after a look is the smallest alpha whose
boundary that look's nominal p-value has crossed, and its running minimum is a p-value whenever
one stops.
Source: I. K. Hwang, W. J. Shih and J. S. DeCani, Group sequential designs using a family of type I
error probability spending functions, Statistics in Medicine 9 (1990); boundaries by the recursive
integration of P. Armitage, C. K. McPherson and B. C. Rowe, J. Royal Statistical Society A 132
(1969); nominal levels carried over to t tests as in C. Jennison and B. W. Turnbull, Group
Sequential Methods (2000), section 3.8; sequential p-values Q. Liu and K. M. Anderson, On adaptive
extensions of group sequential trials, J. American Statistical Association 103 (2008).
Breaks with very few blocks at the first look, where a t test's boundary is the normal one's in its
level only; and a little for a case that failed in some blocks, whose looks are correlated less or
more than those of the schedule.

The coarse look: which cases changed by much with all threads.

Assumption: as in `paired_t`, of the blocks that were measured with the framework's own choice of
threads. Each case is tested against the margin `coarse_threshold`, with a moderated variance, and
the cases are corrected as one family, by Benjamini and Hochberg at `changed_q`. They are a family
apart from the verdicts, and are tested once.
Source: those of `paired_t`, `moderation` and `false_discovery`.
Breaks when a change is little larger than the margin, or one among many cases: with blocks that
scatter by 13 %, four of them find a case that takes 1.5 times as long in 69 % of the sessions with
ten cases and in 20 % with a hundred, and one that takes twice as long in 96 % and 91 %.

Effects are not adjusted for reference work, and none is timed here. The threads of a pool that wait
for work share the cores with it, so that its time depends on whether the operator runs in parallel:
the loss that is looked for would be subtracted.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from opperf.statistics.blocks import Floats, cases_of, effects
from opperf.statistics.data import (
    CaseVerdict,
    CoarseLook,
    Replicate,
    Thresholds,
    Verdict,
    none_if_nan,
)
from opperf.statistics.false_discovery import reject_together
from opperf.statistics.moderation import moderate
from opperf.statistics.paired_t import Estimate, bounds, estimate, p_beyond, p_within

GAMMA = -2.0
"""Shape of the spending: a seventh of the level at a third of the blocks, a quarter at half of
them. More negative spends later."""

ALPHAS = np.geomspace(1e-9, 0.5, 60)
"""Levels whose boundaries are computed; between them, logarithms are interpolated."""

REACH = 8.0
"""Standard deviations below zero where the integration over the last look's estimate begins: less
than the smallest of the levels lies beyond."""

NODES = 96
"""Of the Gauss-Legendre rule, which is right to ten digits with them: the integrand is smooth, and
some twenty of its standard deviations wide."""


BISECTIONS = 50
"""Halvings of the interval in which a boundary is sought: to the last digits of a float."""


def spent(alpha: float | Floats, fraction: float) -> Floats:
    """The part of a level that is spent once that fraction of the blocks is there."""
    return np.asarray(alpha * np.expm1(-GAMMA * fraction) / np.expm1(-GAMMA))


@functools.cache
def nominal_levels(looks: tuple[int, ...]) -> Floats:
    """The one-sided nominal level of each look, a column, for each of `ALPHAS`, a row. `looks` are
    the numbers of blocks after which one looks, ascending; the last one ends it."""
    from scipy.special import ndtr, roots_legendre

    # In terms of the sum of all effects: a Brownian motion of variance n / looks[-1].
    times = [n / looks[-1] for n in looks]
    targets = np.diff([np.zeros(ALPHAS.size), *(spent(ALPHAS, time) for time in times)], axis=0)
    unit, unit_weights = roots_legendre(NODES)
    levels: list[Floats] = []
    # By alpha and node.
    nodes, weights = np.zeros((ALPHAS.size, 1)), np.ones((ALPHAS.size, 1))
    for before, now, target in zip([0.0, *times[:-1]], times, targets, strict=True):
        step = math.sqrt(now - before)
        bound = _bound(nodes, weights, step, target)
        levels.append(ndtr(-bound / math.sqrt(now)))
        low = -REACH * math.sqrt(now)
        at = low + (bound - low)[:, None] * (unit + 1) / 2
        steps = (at[:, :, None] - nodes[:, None, :]) / step
        density = np.einsum("aij,aj->ai", np.exp(-(steps**2) / 2), weights)
        density /= step * math.sqrt(2 * math.pi)
        nodes, weights = at, density * unit_weights * (bound - low)[:, None] / 2
    return np.stack(levels, axis=1)


def _bound(nodes: Floats, weights: Floats, step: float, target: Floats) -> Floats:
    """The boundaries that a step from these nodes crosses with the probabilities `target`."""
    from scipy.special import ndtr

    low, high = np.full(target.shape, -REACH), np.full(target.shape, REACH)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        crossed = (weights * ndtr((nodes - middle[:, None]) / step)).sum(axis=1)
        low = np.where(crossed > target, middle, low)
        high = np.where(crossed > target, high, middle)
    return np.asarray((low + high) / 2)


def sequential_p(p: Floats, look: int, looks: Sequence[int]) -> Floats:
    """The sequential p-value of a one-sided p-value at a look (its place in `looks`, from 0). 1 for
    what is above every boundary; NaN stays."""
    levels = nominal_levels(tuple(looks))[:, look]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.exp(np.interp(np.log(p), np.log(levels), np.log(ALPHAS)))
    found = np.where(p > levels[-1], 1.0, found)
    # Below the table: levels are all but proportional to alpha there.
    return np.where(p < levels[0], p * (ALPHAS[0] / levels[0]), found)


def nominal_level(alpha: float, look: int, looks: Sequence[int]) -> float:
    """The one-sided nominal level of a look at which a level `alpha` over all looks is spent."""
    levels = nominal_levels(tuple(looks))[:, look]
    return float(np.exp(np.interp(np.log(alpha), np.log(ALPHAS), np.log(levels))))


Mask = NDArray[np.bool_]


@dataclass
class Decisions:
    """The state of all cases after some looks; arrays have a row for each."""

    p_changed: Floats
    """Sequential p-value of no change beyond the threshold; NaN before the first look."""
    p_same: Floats
    """Sequential p-value of a change of `same_within` or more, at the look of the estimate."""
    side: Floats
    """Sign of the estimate at the look with the smallest `p_changed`."""
    changed: Mask
    same: Mask
    decided: Mask
    mean: Floats
    low: Floats
    high: Floats
    """Estimate, and bounds each wrong with a probability of `same_level` over all looks, at the
    look that decided the case or at the latest."""
    error: Floats
    freedom: Floats
    """Standard error of the mean, and its degrees of freedom."""
    n: Floats
    place: Floats
    """Look of the estimate, from 0."""
    looks: int = 0

    @classmethod
    def none(cls, cases: int) -> Decisions:
        """Before the first look."""
        unknown, zero = partial(np.full, cases, np.nan), partial(np.zeros, cases)
        return cls(
            p_changed=unknown(),
            p_same=unknown(),
            side=zero(),
            changed=np.zeros(cases, np.bool_),
            same=np.zeros(cases, np.bool_),
            decided=np.zeros(cases, np.bool_),
            mean=unknown(),
            low=unknown(),
            high=unknown(),
            error=unknown(),
            freedom=unknown(),
            n=zero(),
            place=zero(),
        )

    def _update(self, found: Estimate, thresholds: Thresholds) -> None:
        """Takes the estimates of a look; decided cases only count for the variances in common."""
        open_ = ~self.decided
        schedule, place = thresholds.looks, self.looks
        judged = _moderated(found)
        low, high = bounds(judged, nominal_level(thresholds.same_level, place, schedule))
        p_changed = sequential_p(p_beyond(judged, thresholds.margin), place, schedule)
        p_same = sequential_p(p_within(judged, thresholds.same_margin), place, schedule)
        smaller = ~(p_changed >= self.p_changed)
        new = {
            "side": np.where(smaller, np.sign(judged.mean), self.side),
            "p_changed": np.fmin(self.p_changed, p_changed),
            # Not the smallest: a case may be the same at one look and be measured further, and its
            # interval is that of the latest.
            "p_same": p_same,
            "mean": judged.mean,
            "low": low,
            "high": high,
            "error": judged.error,
            "freedom": judged.freedom,
            "n": judged.n,
            "place": np.full(judged.n.shape, float(place)),
        }
        for name, values in new.items():
            setattr(self, name, np.where(open_, values, getattr(self, name)))

    def _decide(self, rejected: Mask, thresholds: Thresholds) -> None:
        # A smallest p-value may be from an early look that later blocks contradict.
        beyond = self.side * self.mean > thresholds.margin
        self.changed = self.changed | (rejected & beyond)
        self.same = (self.p_same <= thresholds.same_level) & ~self.changed
        self.decided |= self.changed | (self.same & (np.abs(self.mean) <= thresholds.margin))
        self.looks += 1


def look(every: Sequence[Decisions], found: Sequence[Estimate], thresholds: Thresholds) -> None:
    """Takes the next look at comparisons, each with its estimates."""
    for one, estimates in zip(every, found, strict=True):
        one._update(estimates, thresholds)
    families = [decisions.p_changed for decisions in every]
    for one, own in zip(every, reject_together(families, thresholds.changed_q), strict=True):
        one._decide(own, thresholds)


def coarse_looks(
    comparisons: Iterable[Sequence[Replicate]], thresholds: Thresholds
) -> list[CoarseLook | None]:
    """Returns the changes of comparisons with all threads; None before all blocks of the look are
    complete. The cases of all are one family."""
    measured = [[made for made in own if made.phase == "coarse"] for own in comparisons]
    every = [cases_of(own) for own in measured]
    found = [effects(own, "coarse", cases) for own, cases in zip(measured, every, strict=True)]
    n_blocks = min(own.values.shape[1] for own in found)
    if not thresholds.coarse_blocks or n_blocks < thresholds.coarse_blocks:
        return [None] * len(found)
    judged = [_moderated(estimate(own)) for own in found]
    families = [p_beyond(own, thresholds.coarse_margin) for own in judged]
    changed = reject_together(families, thresholds.changed_q)
    return [
        CoarseLook(n_blocks, tuple(_rows(*parts, thresholds)))
        for parts in zip(every, judged, families, changed, strict=True)
    ]


def _moderated(own: Estimate) -> Estimate:
    moderated = moderate(own.deviation**2, own.freedom)
    return Estimate.of(own.mean, moderated.variance, own.n, moderated.freedom)


def _rows(
    cases: Sequence[str], judged: Estimate, p: Floats, changed: Mask, thresholds: Thresholds
) -> Iterator[CaseVerdict]:
    figures = (judged.mean, *bounds(judged, thresholds.same_level), p)
    for row, case in enumerate(cases):
        verdict = Verdict.NO_CLEAR_CHANGE
        if changed[row]:
            verdict = Verdict.REGRESSED if judged.mean[row] > 0 else Verdict.IMPROVED
        effect, low, high, own_p = (none_if_nan(values[row]) for values in figures)
        n_blocks = int(judged.n[row])
        yield CaseVerdict(case, verdict, effect, low, high, own_p, n_blocks=n_blocks)
