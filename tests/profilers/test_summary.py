"""Statistics of samples."""

import numpy as np
import pytest
from scipy import stats

from opperf.profilers.summary import median_interval, summarise


def test_statistics_are_numpys():
    samples = [5.0, 1.0, 9.0, 3.0, 7.0, 2.0]
    summary = summarise(samples, "ns")
    assert (summary.n, summary.unit) == (6, "ns")
    assert summary.mean == pytest.approx(np.mean(samples))
    assert summary.median == summary.p50 == np.median(samples)
    assert (summary.min, summary.max) == (1.0, 9.0)
    assert (summary.p90, summary.p99) == tuple(np.percentile(samples, [90, 99]))
    assert summary.mad == stats.median_abs_deviation(samples)


def test_no_samples_are_refused():
    with pytest.raises(ValueError, match="no samples"):
        summarise([], "ns")


def test_few_samples_give_their_extremes_as_the_interval():
    assert median_interval([1.0, 2.0, 3.0]) == (1.0, 3.0)


def test_the_interval_of_ten_samples_is_the_textbooks():
    # P(2nd <= median <= 9th) = 0.979 and P(3rd <= median <= 8th) = 0.891 for n = 10.
    assert median_interval([float(i) for i in range(1, 11)]) == (2.0, 9.0)


@pytest.mark.parametrize("n", [6, 20, 51])
def test_the_interval_covers_the_true_median_as_often_as_it_says(n):
    rng = np.random.default_rng(7)
    drawn = np.sort(rng.exponential(1.0, (4000, n)), axis=1)
    intervals = [median_interval(row) for row in drawn]
    covered = np.mean([low <= np.log(2) <= high for low, high in intervals])
    # Three standard errors of a share of 0.95 among 4000 are 0.0103.
    assert covered > 0.95 - 0.0103
