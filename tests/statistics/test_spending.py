"""Levels that are spent over several looks."""

import itertools

import numpy as np
import pytest
from scipy import stats

from opperf.statistics import decisions
from opperf.statistics.data import Thresholds
from opperf.statistics.decisions import nominal_level, sequential_p, spent

LOOKS = (4, 6, 8, 10, 12)


def crossing_by_look(levels, looks):
    """The chance of crossing for the first time at each look, by the multivariate normal."""
    bounds = stats.norm.isf(levels)
    correlation = np.array([[np.sqrt(min(a, b) / max(a, b)) for a in looks] for b in looks])
    kept = [1.0]
    for n in range(1, len(looks) + 1):
        of = stats.multivariate_normal(cov=correlation[:n, :n], seed=0, abseps=1e-7, maxpts=10**6)
        kept.append(float(of.cdf(bounds[:n])))
    return -np.diff(kept)


def test_the_function_of_hwang_shih_and_decani():
    assert float(spent(0.05, 1.0)) == pytest.approx(0.05)
    assert float(spent(0.05, 0.0)) == 0.0
    # (1 - exp(2 t)) / (1 - exp(2)) at a third and at half of the blocks.
    assert float(spent(1.0, 1 / 3)) == pytest.approx(0.1483, abs=1e-4)
    assert float(spent(1.0, 1 / 2)) == pytest.approx(0.2689, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.05, 0.005])
@pytest.mark.parametrize("looks", [(1, 2, 3), (4, 6, 8)])
def test_boundaries_spend_what_the_function_says(alpha, looks):
    levels = [nominal_level(alpha, place, looks) for place in range(len(looks))]
    expected = np.diff([0.0, *(float(spent(alpha, n / looks[-1])) for n in looks)])
    np.testing.assert_allclose(crossing_by_look(levels, looks), expected, rtol=2e-3)


# Three equally spaced looks at a one-sided level of 2.5 %: gsDesign's default design
# (K. M. Anderson, gsDesign: gamma -4) has upper bounds of 3.01, 2.55 and 2.00.
def test_boundaries_are_the_published_ones(monkeypatch):
    monkeypatch.setattr(decisions, "GAMMA", -4.0)
    # Uncached, as are the levels of another gamma.
    levels = decisions.nominal_levels.__wrapped__((1, 2, 3))
    logs = [np.interp(np.log(0.025), np.log(decisions.ALPHAS), np.log(of)) for of in levels.T]
    bounds = stats.norm.isf(np.exp(logs))
    np.testing.assert_allclose(bounds, [3.01, 2.55, 2.00], atol=0.006)


def test_one_look_has_all_of_the_level():
    p = np.array([1e-12, 1e-6, 0.003, 0.05, 0.4])
    np.testing.assert_allclose(sequential_p(p, 0, (7,)), p, rtol=1e-6)
    assert nominal_level(0.03, 0, (7,)) == pytest.approx(0.03)


@pytest.mark.parametrize("alpha", [1e-8, 0.0004, 0.05, 0.31])
@pytest.mark.parametrize("place", range(5))
def test_at_a_boundary_the_sequential_p_value_is_the_level(alpha, place):
    level = nominal_level(alpha, place, LOOKS)
    assert level < alpha
    found = sequential_p(np.array([level]), place, LOOKS)
    assert found[0] == pytest.approx(alpha, rel=1e-9)


@pytest.mark.parametrize("place", range(5))
def test_sequential_p_values_rise_with_p_and_are_larger(place):
    p = np.geomspace(1e-14, 1.9, 400)
    found = sequential_p(p, place, LOOKS)
    assert (np.diff(found) >= 0).all()
    assert (found >= np.minimum(p, 1.0)).all() and found[-1] == 1.0


def test_levels_rise_from_look_to_look():
    levels = [nominal_level(0.05, place, LOOKS) for place in range(5)]
    assert all(a < b for a, b in itertools.pairwise(levels))
    assert levels[0] == pytest.approx(float(spent(0.05, 1 / 3)), rel=1e-3)


@pytest.mark.parametrize("cap", [2, 5, 48, 200])
def test_levels_rise_with_alpha_for_any_cap(cap):
    looks = Thresholds(block_cap=cap).looks
    table = decisions.nominal_levels(looks)
    assert table.shape == (len(decisions.ALPHAS), len(looks))
    assert (np.diff(table, axis=0) > 0).all()


def test_extremes_and_what_is_not_known():
    found = sequential_p(np.array([np.nan, 0.0, 1.0, 1.7]), 2, LOOKS)
    assert np.isnan(found[0]) and found[1:].tolist() == [0.0, 1.0, 1.0]
    # Below the table, in proportion.
    tiny = sequential_p(np.array([1e-20, 1e-21]), 2, LOOKS)
    assert tiny[0] / tiny[1] == pytest.approx(10.0) and 1e-20 < tiny[0] < 1e-18


def test_the_smallest_of_all_looks_is_a_p_value():
    sums = np.cumsum(np.random.default_rng(3).normal(size=(40_000, 12)), axis=1)
    smallest = np.ones(40_000)
    for place, n in enumerate(LOOKS):
        p = stats.norm.sf(sums[:, n - 1] / np.sqrt(n))
        smallest = np.minimum(smallest, sequential_p(p, place, LOOKS))
    for alpha in (0.01, 0.05, 0.2):
        error = np.sqrt(alpha * (1 - alpha) / 40_000)
        assert np.mean(smallest <= alpha) == pytest.approx(alpha, abs=3.5 * error)
