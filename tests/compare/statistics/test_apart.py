"""Two runs taken apart, and figures that do not scatter."""

from statistics import NormalDist

import numpy as np
import pytest

from opperf.compare.statistics.data import Verdict
from opperf.compare.statistics.order_statistics import compare_samples
from opperf.compare.statistics.tolerance import compare_figures

MARGIN = np.log(1.02)


def drawn(scale, n=50, seed=0):
    return scale * np.random.default_rng(seed).lognormal(0.0, 0.03, n)


def test_a_difference_is_a_suspicion_and_no_more():
    found = compare_samples("x", drawn(1.0), drawn(1.2, seed=1), MARGIN)
    assert found.verdict == Verdict.SUSPECT
    assert found.low < np.log(1.2) < found.high
    assert "interleaved" in found.note
    back = compare_samples("x", drawn(1.2, seed=1), drawn(1.0), MARGIN)
    assert back.verdict == Verdict.SUSPECT
    assert back.effect == -found.effect
    assert (back.low, back.high) == (-found.high, -found.low)


def test_the_effect_is_the_ratio_of_medians():
    a, b = drawn(1.0, 31), drawn(1.01, 41, seed=1)
    found = compare_samples("x", a, b, MARGIN)
    assert found.verdict == Verdict.UNSUSPICIOUS
    assert found.ratio == pytest.approx(np.median(b) / np.median(a))
    assert found.p is None


def test_the_interval_is_made_from_order_statistics():
    # Of 25 values the 8th and the 18th: 2 P(X <= 7) = 0.04329 for X binomial (25, 1/2).
    a, b = np.arange(1.0, 26.0), np.arange(101.0, 126.0)
    found = compare_samples("x", a, b, MARGIN)
    half = 2 * NormalDist().inv_cdf(1 - 0.0432853 / 2)
    errors = [np.log(18 / 8) / half, np.log(118 / 108) / half]
    reach = NormalDist().inv_cdf(0.975) * np.hypot(*errors)
    assert found.effect == pytest.approx(np.log(113 / 13))
    assert found.high - found.effect == pytest.approx(reach, rel=1e-5)


@pytest.mark.parametrize("n", [6, 30, 51])
def test_the_interval_covers_the_ratio_as_often_as_it_says(n):
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(600):
        a, b = 1.0 + rng.exponential(0.1, n), 1.1 * (1.0 + rng.exponential(0.1, n))
        found = compare_samples("x", a, b, MARGIN)
        covered.append(found.low <= np.log(1.1) <= found.high)
    # Three standard errors of a share of 0.95 among 600 are 0.027.
    assert np.mean(covered) > 0.95 - 0.027


def test_samples_that_are_all_equal_have_a_verdict():
    assert compare_samples("x", [3.0] * 9, [3.0] * 9, MARGIN).verdict == Verdict.UNSUSPICIOUS
    assert compare_samples("x", [3.0] * 9, [4.0] * 9, MARGIN).verdict == Verdict.SUSPECT


@pytest.mark.parametrize(("a", "word"), [([1.0] * 5, "samples"), ([1.0] * 9 + [0.0], "above zero")])
def test_samples_that_cannot_be_compared_are_ambiguous(a, word):
    found = compare_samples("x", a, [1.0] * 9, MARGIN)
    assert found.verdict == Verdict.AMBIGUOUS
    assert word in found.note


@pytest.mark.parametrize(
    ("a", "b", "unit", "verdict"),
    [
        (1e6, 1e6, "B", "same"),
        (1e6, 1.009e6, "B", "same"),
        (1e6, 1.02e6, "B", "regressed"),
        (1.02e6, 1e6, "B", "improved"),
        (100.0, 4000.0, "B", "same"),
        (0.0, 0.0, "B", "same"),
        (0.0, 1e6, "B", "regressed"),
        (1e6, 0.0, "B", "improved"),
        (1e6, 1.004e6, "instructions", "same"),
        (1e6, 1.006e6, "instructions", "regressed"),
        (7.0, 7.0, "calls", "same"),
        (7.0, 8.0, "calls", "regressed"),
    ],
)
def test_figures_are_held_against_the_tolerance_of_their_unit(a, b, unit, verdict):
    found = compare_figures("x", a, b, unit)
    assert found.verdict == verdict
    assert found.effect == (None if 0.0 in (a, b) else pytest.approx(np.log(b / a)))


@pytest.mark.parametrize(("a", "b"), [(-1.0, 1.0), (1.0, float("nan")), (float("inf"), 1.0)])
def test_figures_that_are_none_are_refused(a, b):
    with pytest.raises(ValueError, match="x: "):
        compare_figures("x", a, b, "B")
