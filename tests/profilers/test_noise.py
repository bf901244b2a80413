"""What is said of samples that are not as they should be."""

import numpy as np
import pytest

from opperf.profilers.noise import noise
from opperf.profilers.summary import outliers, summarise


def steady(n=200, spread=0.01, seed=0):
    return np.random.default_rng(seed).normal(1000, 1000 * spread, n)


def test_nothing_is_said_of_steady_samples():
    said = [noise(steady(seed=seed).tolist(), 0.02) for seed in range(300)]
    # Mann and Kendall's test is wrong once in a thousand.
    assert sum(map(bool, said)) <= 2, [text for text in said if text]


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_is_said_of_too_few(n):
    assert noise([1000.0] * n, 0.02) == ""


def test_a_drift_is_told_with_its_size():
    samples = steady() * np.linspace(1, 1.2, 200)
    assert "drift: the last quarter is +1" in noise(samples.tolist(), 0.02)
    assert "drift" not in noise((steady() * np.linspace(1, 1.005, 200)).tolist(), 0.02)


def test_two_levels_are_told_with_their_places():
    samples = np.where(np.random.default_rng(1).random(200) < 0.3, 1500, 1000) * steady() / 1000
    text = noise(samples.tolist(), 0.02)
    assert "two levels: 7" in text and "1.0 us" in text and "1.5 us" in text


@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential"])
def test_one_level_is_not_two(draw):
    rng = np.random.default_rng(2)
    drawn = {
        "normal": lambda: rng.normal(1000, 200, 300),
        "uniform": lambda: rng.uniform(500, 1500, 300),
        "exponential": lambda: 1000 + rng.exponential(300, 300),
    }[draw]
    texts = [noise(drawn().tolist(), 0.02) for _ in range(50)]
    assert not any("two levels" in text for text in texts)


def test_an_interval_that_is_too_wide_is_told():
    text = noise(steady(20, 0.3).tolist(), 0.02)
    assert "and not to 2.0% after 20 samples" in text


def test_outliers_are_counted_and_kept():
    samples = [*steady(50), 2000.0, 3000.0, 10.0]
    assert outliers(samples) == (1, 2)
    summary = summarise(samples, "ns", loops=4)
    assert (summary.outliers_low, summary.outliers_high, summary.loops) == (1, 2, 4)
    assert (summary.n, summary.max, summary.min) == (53, 3000.0, 10.0)
