"""Blocks that would settle a case."""

import numpy as np
import pytest
from scipy import stats

from opperf.compare.statistics.paired_t import Estimate
from opperf.compare.statistics.settling import MOST_BLOCKS, blocks_needed


def needed(mean, deviation, beyond=0.05, within=0.05):
    n = 4.0
    of = Estimate(np.array([mean]), np.array([deviation / np.sqrt(n)]), np.array([n]))
    return blocks_needed(of, 0.02, beyond, within)[0]


def power(blocks, distance):
    """The chance that a one-sided test at 0.05 succeeds, by the noncentral t distribution."""
    critical = stats.t.isf(0.05, blocks - 1)
    return stats.nct.sf(critical, blocks - 1, distance * np.sqrt(blocks))


# Distances that are small and medium by J. Cohen, Statistical Power Analysis for the Behavioral
# Sciences (2nd ed., 1988); a large one takes so few blocks that the approximation is one off.
@pytest.mark.parametrize("distance", [0.2, 0.5])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_number_of_blocks_is_that_of_the_t_test_of_that_power(distance, sign):
    deviation = 0.01
    n = needed(sign * (0.02 + distance * deviation), deviation)
    assert power(n, distance) >= 0.9 > power(n - 1, distance)


@pytest.mark.parametrize("mean", [0.03, -0.03, 0.035])
def test_as_many_blocks_as_asked_for_have_the_power(mean):
    n, deviation = needed(mean, 0.01), 0.01
    distance = (abs(mean) - 0.02) / deviation
    assert power(n, distance) > 0.88
    assert power(n - 2, distance) < 0.90


# A table of Student's t has 1.833 (5 %) and 1.383 (10 %) for nine degrees of freedom, and 1.860
# and 1.397 for eight: ten blocks tell 3.216 / root of 10 = 1.0170 deviations, nine 3.257 / 3.
@pytest.mark.parametrize(
    ("distance", "blocks"), [(1.0155, 11), (1.018, 10), (1.084, 10), (1.088, 9)]
)
def test_the_number_of_blocks_by_a_table(distance, blocks):
    assert needed(0.02 + distance * 0.01, 0.01) == blocks


def test_blocks_for_sameness_and_for_a_change_are_counted_alike():
    assert needed(0.01, 0.01) == needed(0.03, 0.01)
    assert needed(0.0, 0.01) < needed(0.01, 0.01)


def test_each_claim_has_its_own_level():
    # Ten times as rare an error takes more blocks, of the claim that the case would come to.
    assert needed(0.03, 0.01, beyond=0.005) > needed(0.03, 0.01) == needed(0.03, 0.01, within=0.005)
    assert needed(0.01, 0.01, within=0.005) > needed(0.01, 0.01) == needed(0.01, 0.01, beyond=0.005)


def test_no_number_where_none_would_do():
    assert np.isnan(needed(0.02, 0.01))
    assert np.isnan(needed(0.0201, 0.01))
    assert np.isnan(needed(0.03, float("nan")))
    assert needed(0.05, 1e-9) == 2
    assert needed(0.021, 0.01) <= MOST_BLOCKS


def test_a_thousand_blocks_are_the_most():
    # What a thousand blocks can tell from the margin, and nothing that is less.
    quantiles = stats.t.isf([0.05, 0.1], 999)
    least = quantiles.sum() / np.sqrt(1000)
    deviation = 1e-3
    assert needed(0.02 + 1.0002 * least * deviation, deviation) == 1000
    assert np.isnan(needed(0.02 + 0.9998 * least * deviation, deviation))
