"""Statistics of raw samples, and notes on their noise: drift, two levels, too few. No sample is
ever removed."""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from opperf.model import Note, NoteCode, Summary
from opperf.plurals import pluralize

CONFIDENCE = 0.95
"""Level of the median's interval: the field's convention."""


FENCE = 1.5
"""Distance of Tukey's fences from the quartiles, in interquartile ranges (Exploratory Data
Analysis, 1977)."""


def median_interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Distribution-free confidence interval of the median of sorted samples.

    The number of samples below the median is binomial with p = 1/2, so order statistics
    placed symmetrically around it bound it (Conover, Practical Nonparametric Statistics,
    section 3.2). Fewer than six samples cannot reach 95 %: their extremes are returned.
    """
    n = len(ordered)
    rank = max(1, _lower_rank(n))
    return ordered[rank - 1], ordered[n - rank]


@functools.cache
def _lower_rank(n: int) -> int:
    """The 1-based rank of the lower bound; 0 if `n` samples are too few."""
    cumulative, rank = 0.0, 0
    while True:
        # The logarithm of the number of ways to choose `rank` of `n`.
        choices = math.lgamma(n + 1) - math.lgamma(rank + 1) - math.lgamma(n - rank + 1)
        cumulative += math.exp(choices - n * math.log(2))
        if cumulative > (1 - CONFIDENCE) / 2:
            return rank
        rank += 1


def half_width(samples: Sequence[float]) -> float:
    """Half-width of the median's interval as a share of the median: its larger distance to a bound.
    Infinite where the median is zero and the interval is not."""
    ordered = sorted(samples)
    low, high = median_interval(ordered)
    middle = median(ordered)
    distance = max(high - middle, middle - low)
    return distance / middle if middle else (math.inf if distance else 0.0)


class Outliers(NamedTuple):
    """Numbers of samples beyond Tukey's fences."""

    low: int
    high: int


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of sorted samples lies, interpolated linearly."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def outliers(ordered: Sequence[float]) -> Outliers:
    """The numbers of sorted samples beyond each of Tukey's fences."""
    lower, upper = percentile(ordered, 0.25), percentile(ordered, 0.75)
    reach = FENCE * (upper - lower)
    low, high = bisect_left(ordered, lower - reach), bisect_right(ordered, upper + reach)
    return Outliers(low, len(ordered) - high)


def summarise(samples: Sequence[float], unit: str, loops: int = 1) -> Summary:
    """Statistics of samples, each the mean of `loops` calls. Raises `ValueError` for no sample."""
    # Without NumPy, whose functions take a third of a second the first time under Valgrind.
    if not len(samples):
        raise ValueError("no samples to summarise")
    ordered = sorted(map(float, samples))
    middle = median(ordered)
    low, high = median_interval(ordered)
    beyond = outliers(ordered)
    return Summary(
        unit=unit,
        n=len(ordered),
        mean=fmean(ordered),
        median=middle,
        min=ordered[0],
        max=ordered[-1],
        p50=middle,
        p90=percentile(ordered, 0.9),
        p99=percentile(ordered, 0.99),
        mad=median(abs(sample - middle) for sample in ordered),
        ci_low=low,
        ci_high=high,
        loops=loops,
        outliers_low=beyond.low,
        outliers_high=beyond.high,
    )


MIN_SAMPLES = 20
"""Fewest samples for the detection of a drift or of two levels."""

DRIFT_Z = 3.29
"""Mann and Kendall's statistic, in standard deviations, from which there is a drift: two-sided, a
level of 0.001, one false report in a thousand operators."""

MAX_COMPARED = 1000
"""Most values whose pairs are all compared, in some milliseconds. More samples are compared as
medians of as many groups of neighbours, which show a drift as well."""

PARTS = 4
"""Parts of a sequence; the drift is from the median of the first to that of the last."""

SEPARATION = 5.0
"""Smallest Ashman's D of two levels (Ashman, Bird and Zepf, 1994: two normal distributions are
separate from 2 on; splitting one in the middle gives 2.7, splitting a uniform one 3.5)."""

MIN_LEVEL_SHARE = 0.1
"""Smallest share of the samples in a level: fewer are outliers."""


def noise_notes(
    metric: str, samples: Sequence[float], precision: float, unit: str = "ns"
) -> list[Note]:
    """Returns notes on the noise in a metric's samples, in the order of the calls; none if their
    median is reliable to `precision`, a share of it."""
    if not len(samples):
        return []
    texts = {
        NoteCode.DRIFT: _drift(samples, precision),
        NoteCode.TWO_LEVELS: _levels(samples, precision, unit),
        NoteCode.IMPRECISE: _imprecision(samples, precision),
    }
    return [Note(metric, code, text) for code, text in texts.items() if text]


def _imprecision(samples: Sequence[float], precision: float) -> str:
    reached = half_width(samples)
    if reached <= precision:
        return ""
    if reached > 1:
        # A percentage beyond 100 says nothing that a reader can use.
        known = "the median is unknown: its interval is wider than ±100 %"
    else:
        known = f"the median is known to ±{reached:.1%}, not to ±{precision:.1%}"
    return f"{known} after {pluralize(len(samples), 'sample')}"


def _drift(samples: Sequence[float], precision: float) -> str:
    """A description of a trend, by Mann and Kendall's test of whether samples tend to grow."""
    if len(samples) < MIN_SAMPLES:
        return ""
    array = np.asarray(samples, dtype=float)
    part = len(array) // PARTS
    first, last = np.median(array[:part]), np.median(array[-part:])
    change = float(last / first - 1) if first else math.inf if last else 0.0
    if abs(change) <= precision:
        return ""
    if abs(_trend(_thinned(array))) < DRIFT_Z:
        return ""
    return f"drift: {_change_text(change)}"


def _thinned(array: Any) -> Any:
    """Returns the medians of at most `MAX_COMPARED` groups of neighbours, without a rest that does
    not fill one; the samples themselves if they are no more."""
    size = math.ceil(len(array) / MAX_COMPARED)
    return np.median(array[: len(array) // size * size].reshape(-1, size), axis=1)


def _trend(array: Any) -> float:
    """Returns Mann and Kendall's statistic in standard deviations, with the correction for ties: 0
    for equal values. Its normal approximation holds from ten values on (M. G. Kendall, Rank
    Correlation Methods, 1975). Not SciPy's, whose import takes half a second of each process."""
    n = len(array)
    rising = np.sign(array[np.newaxis, :] - array[:, np.newaxis])
    trend = float(np.triu(rising, 1).sum())
    _, ties = np.unique(array, return_counts=True)
    variance = _variance(n) - float(_variance(ties).sum())
    return trend / math.sqrt(variance) if variance > 0 else 0.0


def _variance(n: Any) -> Any:
    """Returns the variance of the statistic of `n` samples; of ties, what they take away."""
    return n * (n - 1) * (2 * n + 5) / 18


def _change_text(change: float) -> str:
    if change <= 1:
        return f"the last quarter is {change:+.1%} from the first"
    if math.isfinite(change):
        return f"the last quarter is {1 + change:.1f} times the first"
    return "the first quarter is zero, and the last is not"


def _levels(samples: Sequence[float], precision: float, unit: str) -> str:
    """A description of two levels: the split of the sorted samples with the smallest variance
    within the parts (Otsu, 1979). Empty if the parts are close compared with their widths."""
    if len(samples) < MIN_SAMPLES:
        return ""
    ordered = np.sort(np.asarray(samples, dtype=float))
    low, high = _split(ordered, int(MIN_LEVEL_SHARE * len(ordered)))
    spread = math.sqrt((low.var() + high.var()) / 2)
    gap = float(high.mean() - low.mean())
    apart = gap > SEPARATION * spread and gap > precision * float(np.median(ordered))
    if not apart:
        return ""
    return (
        f"two levels: {len(low) / len(ordered):.0%} of the samples are around "
        f"{_level_text(low.mean(), unit)}, the others around {_level_text(high.mean(), unit)}"
    )


NS_PER_US = 1000


def _level_text(level: float, unit: str) -> str:
    return f"{level / NS_PER_US:.1f} us" if unit == "ns" else f"{level:.4g} {unit}"


def _split(ordered: Any, least: int) -> tuple[Any, Any]:
    """Splits a sorted array in two, of at least `least` each, with minimum variance within."""
    count = len(ordered)
    sums = np.cumsum(ordered)
    sizes = np.arange(least, count - least + 1)
    low_means = sums[sizes - 1] / sizes
    high_means = (sums[-1] - sums[sizes - 1]) / (count - sizes)
    # Minimum variance within the parts is the largest between them.
    between = sizes * (count - sizes) * (high_means - low_means) ** 2
    at = int(sizes[int(np.argmax(between))])
    return ordered[:at], ordered[at:]
