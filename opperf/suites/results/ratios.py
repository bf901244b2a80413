"""Ratios of the performance of benches on two machines, each with its interval, and their weighted
geometric mean.

Assumption: the logarithms of the attempts at a case are normal and independent, with one variance
for both sides, and the variances of benches resemble each other (`moderate`). Where neither side
has two attempts the scatter between attempts is not known: it is assumed, by default to be
`ASSUMED_SCATTER`, and reports state the number. The error of a single observation in a single
attempt is not known either, and as much is assumed of it besides.
Breaks where programs of a suite scatter by very different amounts and have few attempts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from opperf.defaults import ASSUMED_SCATTER
from opperf.errors import unknown
from opperf.model import BenchFacts
from opperf.results.benches import OWN
from opperf.statistics.blocks import Floats
from opperf.statistics.distributions import t_exceeded
from opperf.statistics.moderation import moderate
from opperf.statistics.paired_t import SMALLEST_ERROR, Estimate
from opperf.suites.results.performance import TAIL, Performance

MANY = 1e6
"""Degrees of freedom of a scatter that is assumed and not estimated."""


class Ratio(NamedTuple):
    """A ratio of performances, new over base: above 1 is better."""

    value: float
    low: float
    high: float
    """Its 95 % interval."""
    assumed: bool
    """Whether the scatter between attempts is, or the error of a single observation."""

    @classmethod
    def of(cls, mean: float, width: float, assumed: bool = False) -> Ratio:
        """From the log of a ratio, and the half-width of its interval."""
        # Two attempts that differ by far say nothing: a bound may be beyond all numbers.
        with np.errstate(over="ignore"):
            value, low, high = map(float, np.exp([mean, mean - width, mean + width]))
        return cls(value, low, high, assumed)

    @property
    def half_width(self) -> float:
        """Largest distance from the value to a bound."""
        return max(self.high - self.value, self.value - self.low)


class Pair(NamedTuple):
    """A bench on both sides, as far as their cases are the same."""

    base: Performance
    new: Performance


def common_cases(pair: Pair) -> list[str]:
    """Returns the cases that both sides have figures of."""
    return [id for id in pair.base.cases if id in pair.new.cases]


def estimates(
    pairs: Sequence[Pair], scatter: float = ASSUMED_SCATTER
) -> tuple[Estimate, list[bool]]:
    """Returns the log ratios of benches with their standard errors, and whether each error is
    assumed. Each pair has a common case."""
    means, within, squares, freedom, counts, single = (np.zeros(len(pairs)) for _ in range(6))
    for row, pair in enumerate(pairs):
        ids = common_cases(pair)
        for id in ids:
            sides = (pair.base.cases[id], pair.new.cases[id])
            logs = [[math.log(sample.value) for sample in side] for side in sides]
            means[row] += (fmean(logs[1]) - fmean(logs[0])) / len(ids)
            for side, values in zip(sides, logs, strict=True):
                centre = fmean(values)
                squares[row] += math.fsum((value - centre) ** 2 for value in values)
                freedom[row] += len(values) - 1
                counts[row] += 1 / len(values) / len(ids) ** 2
                errors = [sample.error for sample in side]
                within[row] += (
                    sum((error or 0.0) ** 2 for error in errors) / (len(side) * len(ids)) ** 2
                )
                single[row] += (errors == [None]) / len(ids) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        moderated = moderate(squares / freedom, freedom)
    known = freedom > 0
    variance = np.where(known, moderated.variance, scatter**2) * counts
    # Attempts may be alike by chance, but not more so than their observations allow.
    variance = np.where(known, np.maximum(variance, within), variance + within)
    # A single observation is not exact, and nothing in it says how far from it.
    variance = np.maximum(variance + scatter**2 * single, SMALLEST_ERROR**2)
    found = Estimate.of(
        means, variance, np.ones(len(pairs)), np.where(known, moderated.freedom, MANY)
    )
    return found, [bool(is_assumed) for is_assumed in ~known | (single > 0)]


def ratios_of(found: Estimate, assumed: Sequence[bool]) -> list[Ratio]:
    """Returns the ratios with their 95 % intervals."""
    reach = t_exceeded(TAIL, found.freedom) * found.error
    return [
        Ratio.of(float(mean), float(width), is_assumed)
        for mean, width, is_assumed in zip(found.mean, reach, assumed, strict=True)
    ]


def total_of(found: Estimate, weights: Sequence[float]) -> Ratio | None:
    """Returns the weighted geometric mean of ratios with its 95 % interval, the benches being
    independent; None without a weight. Its degrees of freedom are Welch and Satterthwaite's."""
    shares: Floats = np.asarray(weights, dtype=float)
    if not shares.sum():
        return None
    shares = shares / shares.sum()
    parts = (shares * found.error) ** 2
    mean, squared = float(shares @ found.mean), float(parts.sum())
    spread = float(np.sum(parts**2 / found.freedom))
    freedom = np.array([squared**2 / spread if spread else MANY])
    width = float(t_exceeded(TAIL, freedom)[0]) * math.sqrt(squared)
    return Ratio.of(mean, width)


def by_key(
    keys: Mapping[str, Sequence[int]], found: Estimate, weights: Sequence[float]
) -> dict[str, Ratio]:
    """Returns the total of each group of rows that has a weight."""
    totals = {}
    for name, rows in keys.items():
        picked = list(rows)
        part = Estimate(
            found.mean[picked], found.error[picked], found.n[picked], found.freedom[picked]
        )
        total = total_of(part, [weights[row] for row in picked])
        if total is not None:
            totals[name] = total
    return totals


GROUP, TAG, ENVIRONMENT = "group", "tag", "env"

NONE = "none"
"""Value of a bench without the key."""


def values_of(bench: BenchFacts, key: str) -> tuple[str, ...]:
    """Returns the values of a bench: several of tags."""
    if key == GROUP:
        return (bench.group or bench.name,)
    if key == TAG:
        return bench.tags or (NONE,)
    if key == ENVIRONMENT:
        return (bench.env or OWN,)
    return (str(bench.point[key]),) if key in bench.point else (NONE,)


def check_keys(keys: Sequence[str], benches: Iterable[BenchFacts]) -> None:
    """Raises `UsageError` for a key that no bench has."""
    known = (
        GROUP,
        TAG,
        ENVIRONMENT,
        *dict.fromkeys(name for bench in benches for name in bench.point),
    )
    for key in keys:
        if key not in known:
            raise unknown("key to group by", key, known)


def rows_by(key: str, benches: Sequence[BenchFacts]) -> dict[str, list[int]]:
    """Returns the rows of benches by value, in the order of the benches."""
    found: dict[str, list[int]] = {}
    for row, bench in enumerate(benches):
        for value in values_of(bench, key):
            found.setdefault(value, []).append(row)
    return found
