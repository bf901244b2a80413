"""Describes noise in samples: drift, two levels, too few. No sample is ever removed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opperf.profilers.summary import half_width

MIN_SAMPLES = 20
"""Fewest samples for the detection of a drift or of two levels."""

DRIFT_P = 1e-3
"""Level of the test for a drift: one false report in a thousand operators."""

PARTS = 4
"""Parts of a sequence; the drift is from the median of the first to that of the last."""

SEPARATION = 5.0
"""Smallest Ashman's D of two levels (Ashman, Bird and Zepf, 1994: two normal distributions are
separate from 2 on; splitting one in the middle gives 2.7, splitting a uniform one 3.5)."""

LEAST_SHARE = 0.1
"""Smallest share of the samples in a level: fewer are outliers."""


def noise_text(samples: Sequence[float], precision: float) -> str:
    """A description of the noise in samples, which are in the order of the calls, as one line;
    empty if their median is reliable to `precision`, a share of it."""
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
    """A description of a trend over time, by Mann and Kendall's test of whether later samples tend
    to be larger; empty without one."""
    if len(samples) < MIN_SAMPLES:
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
    """A description of two levels: the split of the sorted samples with the least variance within
    the parts (Otsu, 1979). Empty if the parts are close compared with their widths."""
    if len(samples) < MIN_SAMPLES:
        return ""
    ordered = np.sort(np.asarray(samples, dtype=float))
    low, high = _split(ordered, int(LEAST_SHARE * len(ordered)))
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


def _split(ordered: Any, least: int) -> tuple[Any, Any]:
    """Splits a sorted array into two parts of at least `least` samples each, with the least
    variance within them."""
    count = len(ordered)
    sums = np.cumsum(ordered)
    sizes = np.arange(least, count - least + 1)
    low_means = sums[sizes - 1] / sizes
    high_means = (sums[-1] - sums[sizes - 1]) / (count - sizes)
    # The least variance within the parts is the largest between them.
    between = sizes * (count - sizes) * (high_means - low_means) ** 2
    at = int(sizes[int(np.argmax(between))])
    return ordered[:at], ordered[at:]
