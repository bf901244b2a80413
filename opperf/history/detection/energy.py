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

from opperf.history.detection.series import Floats, Ints

Real = TypeVar("Real", np.float32, np.float64)

Singles = NDArray[np.float32]
"""Half the memory of doubles: the sums of some thousand distances are right to four digits."""


class Weights(NamedTuple):
    """Factors of the sums of distances, by the split (rows) and the end (columns)."""

    both: Floats
    first: Floats
    whole: Floats
    allowed: NDArray[np.bool_]


class Ratio(NamedTuple):
    """Factors of the statistic as a multiple of the mean distance within the two sides, by the end
    (rows) and the split (columns)."""

    splits: slice
    ends: slice
    between: Singles
    before: Singles
    within: Singles
    least: Singles
    """Of the sum of the distances within."""
    forbidden: Singles
    """0, and minus infinity where a side has too few values."""


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
def weights(n: int, before: int, after: int) -> Weights:
    """Returns the factors of the statistic for all splits of up to n values with at least so many
    before and after them."""
    t, k = np.arange(n + 1.0)[:, None], np.arange(n + 1.0)[None, :]
    sides = _sides(t, k, before, after)
    return Weights(
        sides.size * (2 / sides.between + 2 / sides.after),
        -sides.size * (2 / sides.between + 1 / sides.before + 1 / sides.after),
        -sides.size / sides.after,
        sides.allowed,
    )


class _Sides(NamedTuple):
    """Numbers of pairs between two sides and within each, by which sums of distances are divided;
    sums count each pair within a side twice."""

    allowed: NDArray[np.bool_]
    size: Floats
    between: Floats
    before: Floats
    after: Floats


def _sides(t: Floats, k: Floats, before: int, after: int) -> _Sides:
    m = k - t
    allowed = (t >= before) & (m >= after)
    t, m = np.where(allowed, t, 2.0), np.where(allowed, m, 2.0)
    return _Sides(allowed, t * m / (t + m), t * m, t * (t - 1), m * (m - 1))


@functools.lru_cache(maxsize=64)
def ratio(n: int, before: int, after: int, first_end: int, least: float) -> Ratio:
    """Returns the factors for n values, at each end from `first_end`; the mean distance within
    counts as `least` at least."""
    splits, ends = slice(before, n - after + 1), slice(first_end, n + 1)
    t, k = np.arange(n + 1.0)[None, splits], np.arange(n + 1.0)[ends, None]
    sides = _sides(t, k, before, after)
    pairs = sides.before + sides.after
    factors = (
        sides.size * pairs * 2 / sides.between,
        sides.size * pairs * (1 / sides.after - 1 / sides.before),
        -sides.size * pairs / sides.after,
        least * pairs,
        np.where(sides.allowed, 0.0, -np.inf),
    )
    return Ratio(splits, ends, *(factor.astype(np.float32) for factor in factors))


def best_splits(values: Singles, factors: Ratio) -> tuple[Singles, Ints]:
    """Returns the largest ratio at each end, and its split: arrays of windows by ends for windows
    by values."""
    n = values.shape[1]
    distances = values[:, :, None] - values[:, None, :]
    np.abs(distances, out=distances)
    # Products of matrices take half the time of cumulative sums along either axis; small ones, as
    # one of all windows would have threads of its own.
    first = np.tril(np.ones((n + 1, n), np.float32), -1)
    rows = np.matmul(distances, first.T)
    both = np.matmul(first[factors.ends], rows[:, :, factors.splits])
    whole = np.zeros((len(values), n + 1), np.float32)
    np.cumsum(2 * np.diagonal(rows, axis1=1, axis2=2), axis=1, out=whole[:, 1:])
    before = whole[:, None, factors.splits]
    both -= before
    within = whole[:, factors.ends, None] - 2 * both
    found: Singles = both * factors.between
    found += before * factors.before
    found += within * factors.within
    found /= np.maximum(within, factors.least, out=within)
    found += factors.forbidden
    at = np.argmax(found, axis=2)
    best: Singles = np.take_along_axis(found, at[:, :, None], axis=2)[:, :, 0]
    return best, at + factors.splits.start


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
    statistic = weights(n, before, after)
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
