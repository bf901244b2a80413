"""What makes samples less than the numbers that summarise them: drift, two levels, too few.

Nothing is ever taken out of a sample; what is odd about it is put in words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opperf.profilers.summary import half_width

LEAST = 20
"""Samples that a drift or two levels can be told from, at least."""

DRIFT_P = 1e-3
"""Chance of calling a steady sequence a drift. Of a thousand operators, one."""

PARTS = 4
"""Parts of a sequence; the first and the last are compared to say how far it drifted."""

SEPARATION = 5.0
"""Ashman's D from which two levels are told apart (Ashman, Bird and Zepf, 1994: two normal
distributions are separate from 2 on; cutting one in the middle gives 2.7, cutting a uniform one
3.5)."""

LEAST_SHARE = 0.1
"""Share of the samples that a level has at least: fewer are outliers."""


def noise(samples: Sequence[float], precision: float) -> str:
    """What is wrong with the samples, in the order they were taken, as one line; empty if their
    median can be relied on to `precision`, a share of it."""
    if not len(samples):
        return ""
    found = [text for text in (_drift(samples, precision), _levels(samples, precision)) if text]
    reached = half_width(samples)
    if reached > precision:
        found.append(
            f"the median is known to {reached:.1%} and not to {precision:.1%}"
            f" after {len(samples)} samples"
        )
    return "; ".join(found)


def _drift(samples: Sequence[float], precision: float) -> str:
    """A trend over the time of the samples: Mann and Kendall's test, which asks only whether later
    ones tend to be larger."""
    if len(samples) < LEAST:
        return ""
    array = np.asarray(samples, dtype=float)
    part = len(array) // PARTS
    first, last = np.median(array[:part]), np.median(array[-part:])
    change = float(last / first - 1) if first else math.inf
    if abs(change) <= precision:
        return ""
    # Takes a second to import, which most runs need not spend.
    from scipy.stats import kendalltau

    if kendalltau(np.arange(len(array)), array).pvalue >= DRIFT_P:
        return ""
    return f"drift: the last quarter is {change:+.1%} from the first"


def _levels(samples: Sequence[float], precision: float) -> str:
    """Two levels: the cut of the sorted samples that leaves the least variance within its two
    parts (Otsu, 1979), if the parts are far apart for their own widths."""
    if len(samples) < LEAST:
        return ""
    ordered = np.sort(np.asarray(samples, dtype=float))
    low, high = _cut(ordered, int(LEAST_SHARE * len(ordered)))
    spread = math.sqrt((low.var() + high.var()) / 2)
    gap = float(high.mean() - low.mean())
    apart = gap > SEPARATION * spread and gap > precision * float(np.median(ordered))
    if not apart:
        return ""
    return (
        f"two levels: {len(low) / len(ordered):.0%} of the samples are around "
        f"{low.mean() / NS_PER_US:.1f} us, the others around {high.mean() / NS_PER_US:.1f} us"
    )


NS_PER_US = 1000


def _cut(ordered: Any, least: int) -> tuple[Any, Any]:
    """The two parts of a sorted array, each of `least` samples or more, with the least variance
    within them."""
    count = len(ordered)
    sums = np.cumsum(ordered)
    sizes = np.arange(least, count - least + 1)
    low_means = sums[sizes - 1] / sizes
    high_means = (sums[-1] - sums[sizes - 1]) / (count - sizes)
    # Least variance within the parts is most between them.
    between = sizes * (count - sizes) * (high_means - low_means) ** 2
    at = int(sizes[int(np.argmax(between))])
    return ordered[:at], ordered[at:]
