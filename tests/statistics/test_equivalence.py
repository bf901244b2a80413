"""Two one-sided tests."""

import numpy as np
import pytest
from scipy import stats

from opperf.statistics.blocks import Effects
from opperf.statistics.paired_t import bounds, estimate, p_within


def of(values):
    values = np.asarray(values, dtype=float)
    return estimate(Effects(values, np.zeros(len(values))))


@pytest.mark.parametrize("margin", [0.01, 0.02, 0.05])
def test_within_the_margin_is_when_both_bounds_are(margin):
    found = of(np.random.default_rng(2).normal(0.005, 0.01, (300, 5)))
    low, high = bounds(found, 0.05)
    inside = (low > -margin) & (high < margin)
    np.testing.assert_array_equal(p_within(found, margin) < 0.05, inside)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_nearer_end_of_the_margin_decides(sign):
    data = sign * np.array([0.006, 0.001, 0.009, 0.004])
    nearer, side = sign * 0.02, "less" if sign > 0 else "greater"
    expected = stats.ttest_1samp(data, nearer, alternative=side).pvalue
    assert p_within(of([data]), 0.02)[0] == pytest.approx(expected)


def test_effects_that_are_all_equal_are_certain():
    found = of([[0.0] * 3, [0.05] * 3, [-0.05] * 3])
    np.testing.assert_allclose(p_within(found, 0.02), [0, 1, 1], atol=1e-9)


def test_one_block_shows_no_sameness():
    assert np.isnan(p_within(of([[0.0, np.nan], [np.nan, np.nan]]), 0.02)).all()
