"""Tests against a margin and intervals, against SciPy on the same data."""

import numpy as np
import pytest
from scipy import stats

from opperf.statistics.blocks import Effects
from opperf.statistics.paired_t import bounds, estimate, p_above, p_below, p_beyond

DATA = np.array([[0.031, 0.012, 0.045, 0.022, 0.038], [-0.004, 0.011, -0.013, 0.002, 0.007]])


def of(values, resolution=0.0):
    values = np.asarray(values, dtype=float)
    return estimate(Effects(values, np.full(len(values), resolution)))


def test_mean_and_error_are_scipys():
    found = of(DATA)
    np.testing.assert_allclose(found.mean, DATA.mean(axis=1))
    np.testing.assert_allclose(found.error, stats.sem(DATA, axis=1))
    np.testing.assert_allclose(found.deviation, DATA.std(axis=1, ddof=1))
    assert found.n.tolist() == [5, 5]


@pytest.mark.parametrize("margin", [-0.02, 0.0, 0.02])
def test_one_sided_tests_are_scipys(margin):
    above = stats.ttest_1samp(DATA, margin, axis=1, alternative="greater").pvalue
    below = stats.ttest_1samp(DATA, margin, axis=1, alternative="less").pvalue
    np.testing.assert_allclose(p_above(of(DATA), margin), above)
    np.testing.assert_allclose(p_below(of(DATA), margin), below)


def test_without_a_margin_the_interval_test_is_the_two_sided_one():
    np.testing.assert_allclose(p_beyond(of(DATA), 0.0), stats.ttest_1samp(DATA, 0, axis=1).pvalue)


def test_with_a_margin_both_tails_count():
    data = DATA[0]
    near = stats.ttest_1samp(data, 0.01, alternative="greater").pvalue
    far = stats.ttest_1samp(data, -0.01, alternative="greater").pvalue
    assert p_beyond(of(DATA), 0.01)[0] == pytest.approx(near + far)
    np.testing.assert_allclose(p_beyond(of(-DATA), 0.01), p_beyond(of(DATA), 0.01))


@pytest.mark.parametrize("margin", [0.0, 0.002, 0.005, 0.01, 0.05])
def test_an_effect_at_the_margin_is_rejected_as_often_as_the_level_says(margin):
    drawn = np.random.default_rng(5).normal(margin, 0.01, (40_000, 4))
    share = np.mean(p_beyond(of(drawn), margin) <= 0.05)
    # Three standard errors of a share of 0.05 among 40000 are 0.0033.
    assert share <= 0.05 + 0.0033


def test_bounds_are_scipys_interval():
    low, high = bounds(of(DATA), 0.05)
    for row, data in enumerate(DATA):
        expected = stats.t.interval(0.90, 4, data.mean(), stats.sem(data))
        assert (low[row], high[row]) == pytest.approx(expected)


def test_missing_blocks_are_no_blocks():
    found = of([[0.01, np.nan, 0.03], [np.nan, 0.02, np.nan], [np.nan] * 3])
    assert found.n.tolist() == [2, 1, 0]
    np.testing.assert_allclose(found.mean, [0.02, 0.02, np.nan])
    assert found.error[0] == pytest.approx(stats.sem([0.01, 0.03]))
    assert np.isnan(found.error[1:]).all()
    assert np.isnan(p_beyond(found, 0.01)[1:]).all()


def test_effects_that_are_all_equal_are_certain():
    found = of([[0.0] * 3, [0.05] * 3, [-0.05] * 3])
    np.testing.assert_allclose(p_beyond(found, 0.02), [1, 0, 0], atol=1e-9)
    low, high = bounds(found, 0.05)
    np.testing.assert_allclose([low, high], [[0, 0.05, -0.05]] * 2, atol=1e-9)


def test_effects_that_are_all_equal_to_the_margin_are_even_chances():
    found = of([[0.25] * 4])
    assert p_above(found, 0.25).tolist() == p_below(found, 0.25).tolist() == [0.5]


def test_two_blocks_are_enough():
    # One degree of freedom, where t is Cauchy's distribution: of 1 its upper quarter is beyond 1.
    found = of([[1.0, 3.0], [3.0, 1.0]])
    assert (found.mean.tolist(), found.n.tolist()) == ([2.0, 2.0], [2.0, 2.0])
    np.testing.assert_allclose(found.error, 1.0)
    np.testing.assert_allclose(p_above(found, 1.0), 0.25)
    np.testing.assert_allclose(bounds(found, 0.25), [[1.0, 1.0], [3.0, 3.0]])


def test_a_bound_may_have_a_level_for_each_case():
    found = of([[1.0, 3.0], [1.0, 3.0]])
    # Cauchy's distribution has an eighth beyond 1 + root of 2.
    low, high = bounds(found, np.array([0.25, 0.125]))
    np.testing.assert_allclose(high, [3.0, 3.0 + np.sqrt(2)])
    np.testing.assert_allclose(low, [1.0, 1.0 - np.sqrt(2)])


def test_effects_that_are_equal_by_a_coarse_clock_are_not_certain():
    # A step of 10 %, of which half is seen in every block.
    found = of([[0.05] * 4], resolution=0.1)
    assert found.error[0] == pytest.approx(0.1 / np.sqrt(12) / 2)
    assert p_beyond(found, 0.02)[0] > 0.05
