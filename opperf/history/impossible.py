"""Values that a metric cannot have, by its kind: they are no figures."""

from __future__ import annotations

import numpy as np

from opperf.history.model import SeriesFacts
from opperf.history.timelines import Array
from opperf.model import MetricKind

ABOVE_ZERO = frozenset({MetricKind.KERNEL, MetricKind.WALL})
"""Kinds of metrics that cannot be 0: something takes time."""

FROM_ZERO = frozenset({MetricKind.MEMORY, MetricKind.COUNT})
"""Kinds of metrics that can be 0, and no less."""


RETURNS = 2
"""Times that values above 0 came back after others, from which on these are usual: a count of rare
things has both. Once, something was broken and repaired."""


def possible(facts: SeriesFacts, values: Array) -> Array:
    """Returns which values a metric can have, by its kind. Of others, as those of another tool,
    values of 0 or less can be if the first one is, or if there were such between others."""
    finite: Array = np.isfinite(values)
    if facts.kind in FROM_ZERO:
        return finite & (values >= 0)
    above = values[finite] > 0
    returns = int((~above[:-1] & above[1:]).sum())
    if facts.kind in ABOVE_ZERO or (above.size and above[0] and returns < RETURNS):
        return finite & (values > 0)
    return finite
