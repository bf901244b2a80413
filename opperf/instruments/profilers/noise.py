"""Describes noise in samples: drift, two levels, too few. No sample is ever removed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opperf.instruments.profilers.summary import half_width
from opperf.model import Note, NoteCode
from opperf.plurals import pluralize

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
