"""Random shapes: seeded, within limits, spread over them."""

import itertools
import math

from opperf.rules.extents import Fuzz, draw, elements, groups
from opperf.rules.values import tensor

MATRIX = {"data": tensor(16, 32)}
FREE = groups(MATRIX, lambda one: True)


def take(count, fuzz=None, seed=0, key="relu", arguments=None, free=None):
    fuzz = fuzz or Fuzz(count)
    draws = draw(arguments or MATRIX, free or FREE, fuzz, seed, key)
    return list(itertools.islice(draws, count))


def test_they_depend_on_seed_and_key_and_nothing_else():
    assert take(5) == take(5)
    assert take(5) != take(5, seed=1) and take(5) != take(5, key="abs")


def test_they_are_within_the_limits_and_spread_evenly_on_a_logarithm():
    fuzz = Fuzz(400, least=2**6, most=2**16)
    logs = sorted(math.log2(elements(one)) for one in take(400, fuzz))
    assert logs[0] >= 6 and logs[-1] <= 16
    # A quarter of them in each quarter of the range, within what chance allows (p < 1e-4).
    quarters = [sum(low <= log < low + 2.5 for log in logs) for low in (6, 8.5, 11, 13.5)]
    assert all(65 <= count <= 135 for count in quarters), quarters


def test_they_are_long_and_thin_as_well_as_square():
    ratios = [one["data"].shape[0] / one["data"].shape[1] for one in take(200)]
    assert min(ratios) < 0.1 and max(ratios) > 10


def test_they_end_where_no_shape_is_within_the_limits():
    rows = groups({"data": tensor(16, 5000)}, lambda one: one["data"].shape[1] == 5000)
    fuzz = Fuzz(3, least=2, most=1000)
    assert take(3, fuzz, arguments={"data": tensor(16, 5000)}, free=rows) == []


def test_a_column_of_one_is_rare():
    fuzz = Fuzz(200, least=2**16, most=2**20)
    thin = sum(min(one["data"].shape) == 1 for one in take(200, fuzz))
    assert thin < 20


def test_elements_are_limited_on_both_sides_and_the_limits_belong_to_them():
    fuzz = Fuzz(5, least=64, most=64)
    column = {"data": tensor(16)}
    made = take(5, fuzz, arguments=column, free=groups(column, lambda one: True))
    assert [one["data"].shape for one in made] == [(64,)] * 5


def test_misses_count_only_when_nothing_is_between_them():
    # Of the multiples of 97 a single one is within the limits, which half of the draws miss.
    arguments = {"data": tensor(16, 97)}
    rows = [group for group in groups(arguments, lambda one: True) if group[0].axis == 0]
    fuzz = Fuzz(500, least=150, most=250)
    assert len(take(500, fuzz, arguments=arguments, free=rows)) == 500
