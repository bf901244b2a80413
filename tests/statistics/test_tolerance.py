"""Figures that do not scatter."""

import numpy as np
import pytest

from opperf.instruments.instructions import INSTRUCTIONS
from opperf.instruments.memory import MEMORY
from opperf.model import Metric, MetricKind
from opperf.statistics.order_statistics import compare_figures

CALLS = Metric("calls", "calls", MetricKind.COUNT, "Calls")
HITS = Metric("hits", "hits", MetricKind.COUNT, "Hits", lower_is_better=False)
METRICS = {"B": MEMORY, "instructions": INSTRUCTIONS, "calls": CALLS, "hits": HITS}


@pytest.mark.parametrize(
    ("a", "b", "unit", "verdict"),
    [
        (1e6, 1e6, "B", "same"),
        (1e6, 1.02e6, "B", "regressed"),
        (1.02e6, 1e6, "B", "improved"),
        (100.0, 4000.0, "B", "same"),
        (0.0, 0.0, "B", "same"),
        (0.0, 1e6, "B", "regressed"),
        (1e6, 0.0, "B", "improved"),
        # A hundredth of A, and one byte more.
        (1_000_000.0, 1_010_000.0, "B", "same"),
        (1_000_000.0, 1_010_001.0, "B", "regressed"),
        (1_000_000.0, 990_000.0, "B", "same"),
        (1_000_000.0, 989_999.0, "B", "improved"),
        # A page, and one byte more.
        (100_000.0, 104_096.0, "B", "same"),
        (100_000.0, 104_097.0, "B", "regressed"),
        # Half a percent of the instructions, or fifty.
        (1_000_000.0, 1_005_000.0, "instructions", "same"),
        (1_000_000.0, 1_005_001.0, "instructions", "regressed"),
        (9_000.0, 8_950.0, "instructions", "same"),
        (9_000.0, 8_949.0, "instructions", "improved"),
        # Nothing is allowed of a count.
        (7.0, 7.0, "calls", "same"),
        (7.0, 8.0, "calls", "regressed"),
        (1000.0, 999.0, "calls", "improved"),
        # Of some there cannot be enough.
        (7.0, 7.0, "hits", "same"),
        (7.0, 8.0, "hits", "improved"),
        (8.0, 7.0, "hits", "regressed"),
    ],
)
def test_figures_are_held_against_the_tolerance_of_their_metric(a, b, unit, verdict):
    found = compare_figures("x", a, b, METRICS[unit])
    assert (found.case, found.verdict) == ("x", verdict)
    assert found.effect == (None if 0.0 in (a, b) else pytest.approx(np.log(b / a)))
    assert (found.low, found.high) == (found.effect, found.effect)
