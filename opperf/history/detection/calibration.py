"""P-values of looks: how large the statistic gets where nothing changed.

Assumption: blocks of `BLOCK` points without a change are exchangeable, of all windows: the scaled
strands have much the same noise. Blocks of one window alone would be too few to know the variance
of their means, and of as little the tail would be too heavy.
Source: the block bootstrap of H. R. Kunsch, Annals of Statistics 17 (1989), which keeps what
neighbours have in common; the tail of a permutation distribution by a generalised Pareto
distribution: T. A. Knijnenburg, L. F. A. Wessels, M. J. T. Reinders and I. Shmulevich, Fewer
permutations, more accurate P-values, Bioinformatics 25 (2009), fitted by probability-weighted
moments: J. R. M. Hosking and J. R. Wallis, Technometrics 29 (1987).
Breaks with noise whose memory is far longer than a block: drift and seasons, which have their own
models. Strands with far heavier tails than the others have more than their share of false alarms.

As each bootstrapped window is searched for its best split in the same way, the p-values are valid
for a split that was chosen as the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opperf.history.detection.likelihood import Singles, factors
from opperf.history.detection.series import Floats, Ints
from opperf.history.detection.windows import (
    AFTER,
    BEFORE,
    SHORT,
    STEP,
    WINDOW,
    Looks,
    Windows,
    statistics,
)

BLOCK = 10
"""Points that stay together: of what a correlation of .3 between neighbours adds to the variance of
a mean, blocks of five lose 28 %, and these 14 %."""

LEAST_SAMPLES, MOST_SAMPLES = 8_000, 24_000
"""Windows that are bootstrapped, between which it is one for each window: of 8000 the tail has 290
looks. Few series need no smaller p-values."""

EVERY = 4
"""Looks of which one is taken: neighbours have nearly the same best split."""

CHANGED = 5.0
"""Statistic from which on a window is not bootstrapped, as it has a change: blocks of a changed
window would make unchanged ones that look changed. Normal noise is as large in one look of a
million; what is omitted of heavier tails is in the other windows."""

TAIL = 0.001
"""Share of the looks that the tail is fitted to."""

LEAST_SHAPE, MOST_SHAPE = 0.2, 0.5
"""Of the tail of the squared statistic, whose shape is 0 for normal noise. Thousands of series need
p-values a thousandth of the tail's, where a few stray points in a row decide, which it has seldom
seen: in ten months of 5000 series of heavy noise there were six false changes with a shape of at
least 0.05, and none with 0.2."""


@dataclass(frozen=True, eq=False)
class Tail:
    """Distribution of the statistic where nothing changed."""

    quantiles: Floats
    """Sorted statistics of all looks that were bootstrapped, thinned."""
    threshold: float
    scale: float
    shape: float

    def p(self, statistic: Floats) -> Floats:
        """Returns the chance of as large a statistic."""
        above = self.quantiles.size - np.searchsorted(self.quantiles, statistic, side="left")
        found = (above + 1) / (self.quantiles.size + 1)
        excess = np.maximum(statistic**2 - self.threshold**2, 0.0) / self.scale
        if self.shape > 1e-3:
            tail = (1 + self.shape * excess) ** (-1 / self.shape)
        else:
            tail = np.exp(-excess)
        return np.where(statistic > self.threshold, TAIL * tail, found)

    def least(self, p: float) -> float:
        """Returns a statistic that all with a p-value of at most p have, and few others."""
        share = max(p, TAIL)
        return float(self.quantiles[int((1 - share) * (self.quantiles.size - 1))])


@dataclass(frozen=True, eq=False)
class Null:
    """The tails of looks at the first points and of later ones."""

    short: Tail
    full: Tail

    def p(self, looks: Looks) -> Floats:
        """Returns the p-value of each look."""
        return np.where(looks.is_short, self.short.p(looks.statistic), self.full.p(looks.statistic))

    def few(self, looks: Looks, p: float) -> Looks:
        """Returns all looks with a p-value of at most p, and few others."""
        least = np.where(looks.is_short, self.short.least(p), self.full.least(p))
        return looks.those(looks.statistic >= least)


def calibrate(windows: Windows, looks: Looks) -> Null:
    """Returns the distribution of the statistic in bootstrapped windows. `looks` are those of the
    windows; at least one window is needed. The same windows give the same distribution."""
    calm = _calm(windows, looks)
    rng = np.random.default_rng(0)
    samples = int(np.clip(windows.strand.size, LEAST_SAMPLES, MOST_SAMPLES))
    shape = samples, WINDOW // BLOCK
    chosen = calm[rng.integers(0, calm.size, shape)]
    blocks = rng.integers(0, WINDOW, shape)
    index = (blocks[:, :, None] + np.arange(BLOCK)) % windows.size[chosen][:, :, None]
    values = windows.values[chosen[:, :, None], index].reshape(samples, WINDOW)
    by = factors(WINDOW, BEFORE, BEFORE + AFTER, EVERY)
    best, _ = statistics(values, by)
    is_short = by.end <= SHORT
    return Null(_fit(best[:, is_short]), _fit(best[:, ~is_short]))


def _calm(windows: Windows, looks: Looks) -> Ints:
    """Indices of the windows none of whose looks is changed; all of them if none is calm."""
    largest = np.zeros(windows.strand.size)
    # Windows of a strand follow each other, and a look is of the window in whose last part it is.
    firsts = np.searchsorted(windows.strand, np.arange(int(windows.strand.max()) + 1))
    number = np.maximum(0, -(-(looks.seen - WINDOW) // STEP))
    np.maximum.at(largest, firsts[looks.strand] + number, looks.statistic)
    is_changed = largest >= CHANGED
    # Of a change at its edge a window has a few points, too few to be seen there.
    beside = windows.strand[1:] == windows.strand[:-1]
    near = is_changed.copy()
    near[1:] |= is_changed[:-1] & beside
    near[:-1] |= is_changed[1:] & beside
    calm = np.flatnonzero(~near)
    return calm if calm.size else np.arange(windows.strand.size)


def _fit(found: Singles) -> Tail:
    ordered = np.sort(found.astype(np.float64), axis=None)
    beyond = ordered[int(ordered.size * (1 - TAIL)) :]
    threshold = float(beyond[0])
    excess = beyond[1:] ** 2 - threshold**2
    mean = float(excess.mean())
    ranks = (np.arange(excess.size) + 0.65) / excess.size
    weighted = float(np.mean(excess * (1 - ranks)))
    shape = float(np.clip(2 - mean / max(mean - 2 * weighted, 1e-12), LEAST_SHAPE, MOST_SHAPE))
    # With the shape at a bound, the scale that keeps the mean.
    scale = max(mean * (1 - shape), 1e-9)
    return Tail(ordered[:: max(1, ordered.size // 20_000)], threshold, scale, shape)
