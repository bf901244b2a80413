"""Variances that borrow degrees of freedom from those of other cases."""

import numpy as np
import pytest
from scipy import stats

from opperf.statistics.moderation import moderate


def drawn(cases, prior_freedom, scale, freedom, seed=0):
    """Variances estimated with `freedom` where the true ones are scaled inverse chi-squared."""
    rng = np.random.default_rng(seed)
    true = scale * prior_freedom / rng.chisquare(prior_freedom, cases)
    own = np.broadcast_to(np.asarray(freedom, dtype=float), (cases,))
    return true * rng.chisquare(own) / own, np.array(own)


def centre(variance, freedom, found):
    """The prior's variance, from what moderation made of the cases."""
    total = found.variance * found.freedom - freedom * variance
    return np.median((total / found.prior_freedom)[found.prior_freedom > 0])


@pytest.mark.parametrize("scale", [1e-6, 2.0])
@pytest.mark.parametrize("prior_freedom", [2.0, 4.0, 8.0])
def test_the_prior_is_recovered(prior_freedom, scale):
    variance, freedom = drawn(4000, prior_freedom, scale, 6)
    found = moderate(variance, freedom)
    assert found.prior_freedom.max() == pytest.approx(prior_freedom, rel=0.2)
    assert centre(variance, freedom, found) == pytest.approx(scale, rel=0.08)


def test_the_prior_is_recovered_where_cases_have_different_freedom():
    freedom = np.tile([3.0, 3.0, 14.0], 1500)
    variance, _ = drawn(4500, 6.0, 1.0, freedom)
    found = moderate(variance, freedom)
    assert found.prior_freedom.max() == pytest.approx(6.0, rel=0.2)
    assert centre(variance, freedom, found) == pytest.approx(1.0, rel=0.08)


def test_a_few_noisy_cases_do_not_widen_it_and_keep_their_own_variance():
    variance, freedom = drawn(400, 5.0, 1.0, 6)
    before = moderate(variance, freedom)
    # One in twenty, a thousand times noisier.
    variance[:20] *= 1000
    after = moderate(variance, freedom)
    # Were their tails not drawn in, less than a third would be left.
    assert after.prior_freedom.max() > 0.6 * before.prior_freedom.max()
    assert centre(variance[20:], freedom[20:], moderate(variance[20:], freedom[20:])) == (
        pytest.approx(centre(variance, freedom, after), rel=0.1)
    )
    noisy = variance > 100
    assert noisy.sum() >= 15
    assert after.prior_freedom[noisy].max() < 0.5
    np.testing.assert_allclose(after.variance[noisy], variance[noisy], rtol=0.1)


def test_a_noisier_case_is_never_lent_more():
    for seed in range(20):
        variance, freedom = drawn(60, 3.0, 1.0, 5, seed)
        found = moderate(variance, freedom)
        assert (np.diff(found.prior_freedom[np.argsort(variance)]) <= 1e-12).all()


def test_equal_variances_have_the_most_freedom_and_stay_as_they_are():
    found = moderate(np.full(10, 3.0), np.full(10, 5.0))
    assert found.prior_freedom == pytest.approx(np.full(10, 20.0))
    assert found.freedom == pytest.approx(np.full(10, 25.0))
    # All are lent all of it, so that all have one variance, the geometric mean of what an estimate
    # with that freedom would have to be.
    assert found.variance == pytest.approx(np.full(10, found.variance[0]))
    assert found.variance[0] == pytest.approx(3.0, rel=0.25)


@pytest.mark.parametrize(("cases", "most"), [(1, 0), (2, 0), (3, 4), (7, 4), (8, 20), (100, 20)])
def test_few_cases_are_lent_less(cases, most):
    found = moderate(np.full(cases, 2.0), np.full(cases, 4.0))
    np.testing.assert_allclose(found.prior_freedom, most)
    np.testing.assert_allclose(found.freedom, 4.0 + most)
    if not most:
        assert found.variance.tolist() == [2.0] * cases


def test_variances_that_have_nothing_in_common_stay_as_they_are():
    variance = np.geomspace(1e-2, 1e2, 30) ** 3
    found = moderate(variance, np.full(30, 10.0))
    # Moderated by less than one degree of freedom, as they spread over twelve decades.
    assert found.prior_freedom.max() < 1.0
    # Nearly no two of them agree to a factor of e to the hundredth.
    extreme = np.geomspace(1e-4, 1e4, 9) ** 12
    np.testing.assert_allclose(moderate(extreme, np.full(9, 10.0)).variance, extreme)


def test_the_moderated_variance_is_the_mean_weighted_by_freedom():
    variance, freedom = drawn(50, 4.0, 1.0, 5)
    found = moderate(variance, freedom)
    full = found.prior_freedom == found.prior_freedom.max()
    assert full.sum() > 5
    prior = found.prior_freedom[full]
    each = (found.variance[full] * (prior + 5) - 5 * variance[full]) / prior
    np.testing.assert_allclose(each, each[0])
    np.testing.assert_allclose(found.freedom, 5 + found.prior_freedom)


def test_a_case_without_a_variance_has_none_and_no_part_in_the_others():
    variance, freedom = drawn(12, 4.0, 1.0, 5)
    alone = moderate(variance, freedom)
    with_others = moderate(np.append(variance, [np.nan, np.nan]), np.append(freedom, [0.0, 0.0]))
    np.testing.assert_array_equal(with_others.variance[:12], alone.variance)
    assert np.isnan(with_others.variance[12:]).all()
    nothing = moderate(np.full(4, np.nan), np.zeros(4))
    assert np.isnan(nothing.variance).all() and not nothing.prior_freedom.any()


def test_a_case_without_scatter_is_not_moderated_and_does_not_hide_what_others_share():
    variance, freedom = drawn(12, 8.0, 1.0, 5)
    found = moderate(np.append(variance, 1e-24), np.append(freedom, 5.0))
    assert (found.variance[12], found.prior_freedom[12]) == (1e-24, 0.0)
    np.testing.assert_array_equal(found.variance[:12], moderate(variance, freedom).variance)


def test_the_unit_of_variances_is_no_matter():
    variance, freedom = drawn(30, 4.0, 1.0, 5)
    one, other = moderate(variance, freedom), moderate(1e-4 * variance, freedom)
    np.testing.assert_allclose(other.variance, 1e-4 * one.variance, rtol=1e-4)
    np.testing.assert_allclose(other.freedom, one.freedom, rtol=1e-4)


@pytest.mark.parametrize("prior_freedom", [1.0, 4.0, 1e6])
def test_t_statistics_of_unchanged_cases_are_rejected_as_often_as_the_level_says(prior_freedom):
    rejected, drawn_at_all = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        true = prior_freedom / rng.chisquare(prior_freedom, 20)
        variance = true * rng.chisquare(4, 20) / 4
        found = moderate(variance, np.full(20, 4.0))
        t = rng.normal(0, np.sqrt(true)) / np.sqrt(found.variance)
        rejected += (stats.t.sf(t, found.freedom) <= 0.05).sum()
        drawn_at_all += 20
    # Three standard errors of a share of 5 % of 1200 are 1.9 %.
    assert 0.02 < rejected / drawn_at_all <= 0.05 + 0.019
