"""The statistic of a step, and its best split, against the formula written out."""

import math

import numpy as np
import pytest

from opperf.history.detection.likelihood import LENGTHS, best_split, best_splits, factors, statistic


def direct(values: np.ndarray, first: int) -> float:
    """The difference of the means of two sides in standard errors, of a scale of at least 1."""
    before, after = values[:first], values[first:]
    within = sum(((side - side.mean()) ** 2).sum() for side in (before, after))
    scale = max(1.0, within / (values.size - 2))
    error = math.sqrt(scale * (1 / before.size + 1 / after.size))
    return (after.mean() - before.mean()) / error


def test_statistic_of_known_values():
    # Means of 0 and 3, nothing within: 3 / sqrt(1/4 + 1/4).
    assert statistic(np.zeros(4), np.full(4, 3.0)) == pytest.approx(3 * math.sqrt(2))
    # Squares of 32 within 8 values of two sides: a scale of 32/6.
    wide = np.array([-2.0, 2, -2, 2])
    assert statistic(wide, wide - 3) == pytest.approx(-3 / math.sqrt(32 / 6 / 2))


@pytest.mark.parametrize("scale", (0.5, 3.0))
def test_best_split_is_the_largest_of_the_formula(scale: float):
    values = np.random.default_rng(2).normal(0, scale, 60)
    values[37:] += 2 * scale
    sizes = {first: abs(direct(values, first)) for first in range(5, 57)}
    found = best_split(values, 5, 4)
    assert found.first == max(sizes, key=sizes.__getitem__)
    assert found.statistic == pytest.approx(sizes[found.first])
    assert statistic(values[: found.first], values[found.first :]) == pytest.approx(
        direct(values, found.first)
    )


def test_too_few_values_have_no_split():
    assert best_split(np.arange(8.0), 5, 4) == (0, 0.0)


def test_splits_of_windows_are_those_of_each_end():
    windows = np.random.default_rng(3).normal(0, 2, (3, 40)).astype(np.float32)
    windows[1, 30:] += 6
    by = factors(40, 8, 20)
    found, first = best_splits(windows, by)
    assert found.shape == (3, len(by.end)) and by.end.tolist() == list(range(20, 41))
    for row, values in enumerate(windows.astype(np.float64)):
        for column, end in enumerate(by.end.tolist()):
            tried = {
                end - length: abs(direct(values[:end], end - length))
                for length in LENGTHS
                if end - length >= 8
            }
            assert found[row, column] == pytest.approx(max(tried.values()), rel=1e-3)
            assert tried[int(first[row, column])] == pytest.approx(max(tried.values()), rel=1e-3)
