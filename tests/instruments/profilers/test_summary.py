"""Statistics of samples."""

import math

import numpy as np
import pytest
from scipy import stats

from opperf.instruments.profilers.summary import half_width, median_interval, outliers, summarise


def test_statistics_are_numpys():
    samples = [5.0, 1.0, 9.0, 3.0, 7.0, 2.0]
    summary = summarise(samples, "ns")
    assert (summary.n, summary.unit, summary.loops) == (6, "ns", 1)
    assert summary.mean == pytest.approx(np.mean(samples))
    assert summary.median == summary.p50 == np.median(samples)
    assert (summary.min, summary.max) == (1.0, 9.0)
    assert (summary.p90, summary.p99) == tuple(np.percentile(samples, [90, 99]))
    assert summary.mad == stats.median_abs_deviation(samples)


def test_percentiles_are_where_they_should_be():
    summary = summarise([float(i) for i in range(100, -1, -1)], "ns")
    assert (summary.p50, summary.p90, summary.p99) == pytest.approx((50.0, 90.0, 99.0))
    # 41 and 60 of 101, from the binomial distribution of 101 throws.
    assert (summary.ci_low, summary.ci_high) == (40.0, 60.0)


def test_no_samples_are_refused():
    with pytest.raises(ValueError, match="no samples"):
        summarise([], "ns")


@pytest.mark.parametrize("n", range(1, 6))
def test_few_samples_give_their_extremes_as_the_interval(n):
    assert median_interval(list(range(1, n + 1))) == (1, n)


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [
        (6, 1, 6),
        (8, 1, 8),
        (9, 2, 8),
        # P(2nd <= median <= 9th) = 0.979 and P(3rd <= median <= 8th) = 0.891 for n = 10.
        (10, 2, 9),
        (15, 4, 12),
        (20, 6, 15),
        (25, 8, 18),
        (50, 18, 33),
    ],
)
def test_the_interval_is_the_textbooks(n, low, high):
    """Ranks of the usual tables of the sign test, at 95 %."""
    assert median_interval(list(range(1, n + 1))) == (low, high)


@pytest.mark.parametrize("n", [6, 20, 51])
def test_the_interval_covers_the_true_median_as_often_as_it_says(n):
    rng = np.random.default_rng(7)
    drawn = np.sort(rng.exponential(1.0, (4000, n)), axis=1)
    intervals = [median_interval(row) for row in drawn]
    covered = np.mean([low <= np.log(2) <= high for low, high in intervals])
    # Three standard errors of a share of 0.95 among 4000 are 0.0103.
    assert covered > 0.95 - 0.0103


@pytest.mark.parametrize(
    ("samples", "reach"),
    [
        ([7.0], 0.0),
        ([3.0, 1.0, 2.0], 0.5),
        ([4.0, 2.0, 1.0], 1.0),
        ([1.0, 4.0, 5.0], 0.75),
        ([0.0, 0.0, 0.0], 0.0),
        ([0.0, 0.0, 5.0], math.inf),
    ],
)
def test_half_a_width_is_the_longer_half(samples, reach):
    assert half_width(samples) == reach


def test_outliers_are_beyond_tukeys_fences():
    # Quartiles of 100 and 140, so that the fences are at 40 and 200.
    samples = [120.0, 40.0, 100.0, 200.0, 110.0, 39.9, 130.0, 200.1, 140.0]
    assert outliers(sorted(samples)) == (1, 1)
    assert outliers([100.0] * 8) == (0, 0)


def test_outliers_are_counted_and_kept():
    samples = [*np.linspace(980, 1020, 50), 2000.0, 3000.0, 10.0]
    summary = summarise(samples, "ns", loops=4)
    assert (summary.outliers_low, summary.outliers_high, summary.loops) == (1, 2, 4)
    assert (summary.n, summary.max, summary.min) == (53, 3000.0, 10.0)
