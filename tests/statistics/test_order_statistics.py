"""Two runs taken apart."""

from math import comb
from statistics import NormalDist

import numpy as np
import pytest

from opperf.statistics.data import Verdict
from opperf.statistics.order_statistics import compare_samples

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
    assert (found.verdict, found.note) == (Verdict.NO_CLEAR_CHANGE, "")
    assert found.ratio == pytest.approx(np.median(b) / np.median(a))
    assert found.p is None


# By Price and Bonett the order statistic of rank (n + 1) / 2 less the root of n, rounded, stands
# for a bound of the median, and the binomial distribution for how sure it is: of 25 values the 8th
# and the 18th, and the median lies below the 8th if at most 7 of 25 throws of a coin are heads.
@pytest.mark.parametrize(("n", "rank"), [(6, 1), (9, 2), (10, 2), (25, 8), (30, 10), (49, 18)])
def test_the_interval_is_made_from_order_statistics(n, rank):
    a, b = np.arange(1.0, n + 1), np.arange(101.0, n + 101)
    found = compare_samples("x", a, b, MARGIN)
    tail = sum(comb(n, heads) for heads in range(rank)) / 2**n
    half = 2 * NormalDist().inv_cdf(1 - tail)
    low, high = rank, n + 1 - rank
    errors = [np.log(high / low) / half, np.log((100 + high) / (100 + low)) / half]
    reach = NormalDist().inv_cdf(0.975) * np.hypot(*errors)
    assert found.effect == pytest.approx(np.median(np.log(b)) - np.median(np.log(a)))
    assert found.high - found.effect == pytest.approx(reach, rel=1e-5)
    assert found.effect - found.low == pytest.approx(reach, rel=1e-5)


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
    assert compare_samples("x", [3.0] * 9, [3.0] * 9, MARGIN).verdict == Verdict.NO_CLEAR_CHANGE
    assert compare_samples("x", [3.0] * 9, [4.0] * 9, MARGIN).verdict == Verdict.SUSPECT


@pytest.mark.parametrize(("a", "b"), [(3.0, 4.0), (4.0, 3.0)])
def test_an_interval_that_touches_the_margin_is_not_beyond_it(a, b):
    size = abs(compare_samples("x", [a] * 9, [b] * 9, MARGIN).effect)
    at, below = (compare_samples("x", [a] * 9, [b] * 9, m) for m in (size, size * (1 - 1e-9)))
    assert (at.verdict, below.verdict) == (Verdict.NO_CLEAR_CHANGE, Verdict.SUSPECT)


def test_an_interval_around_the_margin_is_not_beyond_it():
    # Medians 10 % apart, and samples that scatter by 20 %.
    a = np.exp(np.linspace(-0.2, 0.2, 9))
    for b in (1.1 * a, a / 1.1):
        assert compare_samples("x", a, b, MARGIN).verdict == Verdict.NO_CLEAR_CHANGE


@pytest.mark.parametrize("samples", [[0.5] * 6, [1e-9] * 6])
def test_six_samples_above_zero_are_enough(samples):
    assert compare_samples("x", samples, samples, MARGIN).verdict == Verdict.NO_CLEAR_CHANGE


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ([1.0] * 5, "samples; each needs at least 6"),
        ([], "0"),
        ([1.0] * 9 + [0.0], "a sample is not positive"),
        ([1.0] * 9 + [-1.0], "a sample is not positive"),
    ],
)
def test_samples_that_cannot_be_compared_are_ambiguous(odd, words):
    for a, b in ((odd, [1.0] * 9), ([1.0] * 9, odd)):
        found = compare_samples("x", a, b, MARGIN)
        assert (found.verdict, found.effect) == (Verdict.AMBIGUOUS, None)
        assert words in found.note
