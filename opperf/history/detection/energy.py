"""E-divisive: change points by the energy distance between what is before and after.

Assumption: points are independent, and equally distributed between two changes. Nothing is assumed
of the distribution but a finite mean.
Source: D. S. Matteson and N. A. James, A nonparametric approach for multiple change point analysis
of multivariate data, J. American Statistical Association 109 (2014), with exponent 1; the ratio of
between to within of M. L. Rizzo and G. J. Szekely, DISCO analysis, Annals of Applied Statistics 4
(2010).
Breaks with autocorrelation, which makes p-values by permutation of single points too small, and
with many series, as each has its own level: `windows` and `calibration` are for these.
"""

from __future__ import annotations

import functools
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from opperf.history.detection.series import Floats

Real = TypeVar("Real", np.float32, np.float64)

Singles = NDArray[np.float32]
"""Half the memory of doubles: the sums of some thousand distances are right to four digits."""


class Weights(NamedTuple):
    """Factors of the sums of distances, by the split (rows) and the end (columns)."""

    both: Floats
    first: Floats
    whole: Floats
    allowed: NDArray[np.bool_]


def prefix_sums(values: NDArray[Real]) -> NDArray[Real]:
    """Returns the sums of the distances of the first i of the values to the first j, for all i and
    j from 0 to their number: of shape (..., n + 1, n + 1) for values of shape (..., n)."""
    distances = values[..., :, None] - values[..., None, :]
    np.abs(distances, out=distances)
    n = values.shape[-1]
    # A product of matrices takes half the time of a cumulative sum along either axis.
    first = np.tril(np.ones((n + 1, n), dtype=values.dtype), -1)
    sums: NDArray[Real] = np.matmul(np.matmul(first, distances), first.T)
    return sums


@functools.lru_cache(maxsize=64)
def weights(n: int, before: int, after: int) -> tuple[Weights, Weights]:
    """Returns the factors of the statistic and of the mean distance within the two sides, for all
    splits of up to n values with at least so many before and after them."""
    t, k = np.arange(n + 1.0)[:, None], np.arange(n + 1.0)[None, :]
    m = k - t
    allowed = (t >= before) & (m >= after)
    t, m = np.where(allowed, t, 2.0), np.where(allowed, m, 2.0)
    size = t * m / (t + m)
    # Sums count each pair within a side twice, so that means over pairs divide by t(t - 1).
    pairs_before, pairs_after = t * (t - 1), m * (m - 1)
    statistic = Weights(
        size * (2 / (t * m) + 2 / pairs_after),
        -size * (2 / (t * m) + 1 / pairs_before + 1 / pairs_after),
        -size / pairs_after,
        allowed,
    )
    all_pairs = pairs_before + pairs_after
    within = Weights(-2 / all_pairs, 2 / all_pairs, 1 / all_pairs, allowed)
    return statistic, within


def combine(sums: NDArray[Real], factors: Weights, rows: slice, columns: slice) -> NDArray[Real]:
    """Returns the sums of distances weighted by the factors, for the splits of the rows and the
    ends of the columns."""
    diagonal = np.diagonal(sums, axis1=-2, axis2=-1)
    found = sums[..., rows, columns] * factors.both[rows, columns].astype(sums.dtype)
    found += diagonal[..., rows, None] * factors.first[rows, columns].astype(sums.dtype)
    found += diagonal[..., None, columns] * factors.whole[rows, columns].astype(sums.dtype)
    return found


class Split(NamedTuple):
    """The best split of a stretch of values."""

    first: int
    """Index of the first value after the split."""
    end: int
    """One past the last value of the side after it."""
    statistic: float


def best_split(values: Floats, before: int = 2, after: int = 2, at_end: bool = False) -> Split:
    """Returns the split of the maximum statistic over all splits and all ends, or with the last
    value as the only end; the index is 0 for too few values."""
    n = values.size
    if n < before + after:
        return Split(0, n, 0.0)
    statistic, _ = weights(n, before, after)
    ends = slice(n, n + 1) if at_end else slice(0, n + 1)
    found = combine(prefix_sums(values), statistic, slice(0, n + 1), ends)
    found = np.where(statistic.allowed[:, ends], found, -np.inf)
    t, k = np.unravel_index(int(np.argmax(found)), found.shape)
    return Split(int(t), int(k) + (n if at_end else 0), float(found[t, k]))


def e_divisive(
    values: Floats,
    level: float = 0.05,
    permutations: int = 199,
    smallest: int = 2,
    seed: int = 0,
) -> tuple[int, ...]:
    """Returns the indices of the first values of new levels, as published: the best split of all
    segments is tested by permuting the values within segments, and splits one, until a test fails.
    """
    rng = np.random.default_rng(seed)
    bounds = [0, values.size]
    while True:
        segments = [values[low:high] for low, high in zip(bounds, bounds[1:], strict=False)]
        splits = [best_split(segment, smallest, smallest) for segment in segments]
        chosen = int(np.argmax([split.statistic for split in splits]))
        found = splits[chosen]
        if found.statistic <= 0:
            return tuple(bounds[1:-1])
        as_large = sum(
            max(
                best_split(rng.permutation(segment), smallest, smallest).statistic
                for segment in segments
            )
            >= found.statistic
            for _ in range(permutations)
        )
        if (as_large + 1) / (permutations + 1) > level:
            return tuple(bounds[1:-1])
        bounds.insert(chosen + 1, bounds[chosen] + found.first)
