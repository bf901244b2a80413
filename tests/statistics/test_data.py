"""The thresholds and the results of a comparison."""

import math

import pytest

from opperf.statistics.data import CaseVerdict, Thresholds, Verdict


def test_the_rules_are_those_of_the_guide():
    # docs/measuring.md, "What is compared with what", and its threshold.
    thresholds = Thresholds()
    assert thresholds.threshold == 0.02
    assert thresholds.same_within == 0.04
    assert (thresholds.control_blocks, thresholds.block_cap) == (2, 12)
    assert (thresholds.control_q, thresholds.changed_q, thresholds.same_level) == (0.01, 0.05, 0.05)


def test_the_margin_is_as_far_up_as_down():
    # 25 % more and, mirrored, 20 % less: 1.25 times 0.8 is 1.
    assert Thresholds(threshold=0.25).margin == pytest.approx(math.log(1.25))
    assert Thresholds(threshold=0.25).margin == pytest.approx(-math.log(0.8))
    assert Thresholds(same_within=0.25).same_margin == pytest.approx(math.log(1.25))


@pytest.mark.parametrize(
    ("cap", "looks"),
    [
        (2, (2,)),
        (4, (4,)),
        (5, (5,)),
        (6, (4, 6)),
        (12, (4, 6, 8, 12)),
        (13, (4, 6, 8, 13)),  # none a single block before the last
        (24, (4, 6, 8, 12, 16, 24)),
        (64, (4, 6, 8, 12, 16, 24, 32, 48, 64)),
    ],
)
def test_looks_are_even_and_end_at_the_cap(cap, looks):
    assert Thresholds(block_cap=cap).looks == looks


def test_a_ratio_is_the_effect_without_the_logarithm():
    assert CaseVerdict("x", Verdict.SAME, effect=math.log(1.5)).ratio == pytest.approx(1.5)
    assert CaseVerdict("x", Verdict.SAME, effect=0.0).ratio == 1.0
    assert CaseVerdict("x", Verdict.AMBIGUOUS).ratio is None
