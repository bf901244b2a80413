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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opperf.comparison.statistics.blocks import Floats
from opperf.comparison.statistics.data import Thresholds
from opperf.comparison.statistics.false_discovery import reject_together
from opperf.comparison.statistics.moderation import moderate
from opperf.comparison.statistics.paired_t import Estimate, bounds, p_beyond, p_within
from opperf.comparison.statistics.spending import nominal_level, sequential_p

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

        def unknown() -> Floats:
            return np.full(cases, np.nan)

        def no() -> Mask:
            return np.zeros(cases, dtype=np.bool_)

        return cls(
            p_changed=unknown(),
            p_same=unknown(),
            side=np.zeros(cases),
            changed=no(),
            same=no(),
            decided=no(),
            mean=unknown(),
            low=unknown(),
            high=unknown(),
            error=unknown(),
            freedom=unknown(),
            n=np.zeros(cases),
            place=np.zeros(cases),
        )

    def _update(self, found: Estimate, thresholds: Thresholds) -> None:
        """Takes the estimates of a look; decided cases only count for the variances in common."""
        open_ = ~self.decided
        schedule, place = thresholds.looks, self.looks
        moderated = moderate(found.deviation**2, found.freedom)
        judged = Estimate.of(found.mean, moderated.variance, found.n, moderated.freedom)
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
