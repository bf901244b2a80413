"""The labelled values of axes."""

import math

import pytest

from opperf.results.plots.dimensions import linear_ticks, log_ticks, number_text, ticks_of


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0"),
        (2048.0, "2048"),
        (0.05, "0.05"),
        (99999, "99999"),
        (100000, "100k"),
        (2**20, "1.05M"),
        (5e9, "5G"),
        (2e13, "20T"),
    ],
)
def test_numbers_are_short(value, text):
    assert number_text(value) == text


def test_sizes_are_thinned_and_the_first_and_last_stay():
    sizes = [float(size) for size in range(64, 64 * 21, 64)]
    found = ticks_of(sizes, 5, float)
    assert found[0] == 64 and found[-1] == 1280 and 3 <= len(found) <= 6
    assert set(found) <= set(sizes)
    few = [128.0, 256.0, 512.0]
    assert ticks_of(few, 8, math.log10) == few
    assert ticks_of([4.0], 8, float) == [4.0]


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (90, 900, [100, 200, 500]),
        (1, 100, [1, 2, 5, 10, 20, 50, 100]),
        (0.5, 5e4, [1, 10, 100, 1000, 10000]),
        (31, 34, [31, 31.5, 32, 32.5, 33, 33.5, 34]),
    ],
)
def test_logarithmic_axes_have_round_numbers(low, high, expected):
    assert log_ticks(low, high, 7) == pytest.approx(expected)


def test_many_decades_are_thinned():
    found = log_ticks(1, 1e20, 7)
    assert len(found) <= 7 and found[:2] == pytest.approx([1, 1000])


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (0, 2.5, [0, 0.5, 1, 1.5, 2, 2.5]),
        (0, 41, [0, 10, 20, 30, 40]),
        (0, 7e5, [0, 2e5, 4e5, 6e5]),
    ],
)
def test_linear_axes_have_multiples_of_a_round_number(low, high, expected):
    assert linear_ticks(low, high, 6) == pytest.approx(expected)
