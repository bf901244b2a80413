"""What fills tensors of functions that are not defined, or not one number, everywhere."""

import math

import numpy as np
import pytest

from opperf.operations import OPERATIONS
from opperf.rules.domains import (
    BITS,
    DECIDED_BY_ONE,
    DOMAINS,
    MANTISSAS,
    NEAR_ONE,
    PAIRS,
    POSITIVE_INTEGERS,
    REDUCTIONS,
    SHIFTS,
    Pair,
    reduction_fill,
)
from opperf.rules.values import BOOLEAN, NORMAL, odds


def whole_numbers(fill):
    assert fill.distribution == "integers"
    return np.arange(fill.low, fill.high, dtype="int64")


EVERYWHERE = {
    *("bitwise_not", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal"),
    *("leading_zeros", "logical_not", "nan_to_num", "ones_in_bits"),
}
"""Operations that are defined for every number, and have fills for another reason."""


@pytest.mark.parametrize("name", sorted(set(DOMAINS) - EVERYWHERE))
def test_operations_are_defined_and_finite_in_their_whole_domain(name):
    fill = DOMAINS[name]
    assert fill.distribution == "uniform"
    with np.errstate(all="raise"):
        found = OPERATIONS[name].reference.compute(x=np.linspace(fill.low, fill.high, 101))
    assert np.isfinite(found).all()


def test_each_bit_is_set_in_half_of_what_bitwise_functions_get():
    numbers = whole_numbers(BITS)
    bits = int(numbers[-1]).bit_length()
    assert bits > 1
    assert [int((numbers >> bit & 1).sum()) for bit in range(bits)] == [len(numbers) // 2] * bits


def test_what_is_shifted_stays_within_32_bits():
    numbers, shifts = whole_numbers(BITS), whole_numbers(SHIFTS)
    assert len(shifts) > 1 and shifts[0] == 0
    assert numbers[-1] << shifts[-1] < 2**31
    assert PAIRS["ldexp"] == Pair(MANTISSAS, SHIFTS)


def test_common_divisors_are_of_numbers_that_have_some():
    numbers = whole_numbers(POSITIVE_INTEGERS)
    assert numbers[0] == 1
    assert PAIRS["gcd"] == PAIRS["lcm"] == Pair(POSITIVE_INTEGERS, POSITIVE_INTEGERS)


def test_a_quarter_of_what_is_compared_is_equal():
    left, right = (whole_numbers(fill) for fill in PAIRS["equal"])
    assert np.mean(left[:, None] == right[None, :]) == 0.25
    assert PAIRS["equal"] == PAIRS["not_equal"] == PAIRS["isclose"]


def test_a_product_of_a_million_neither_overflows_nor_vanishes():
    factors = np.random.default_rng(0).uniform(NEAR_ONE.low, NEAR_ONE.high, 2**20)
    assert 1e-3 < np.prod(factors) < 1e3
    assert REDUCTIONS["prod"] == REDUCTIONS["cumprod"] == NEAR_ONE


def test_divisors_are_away_from_zero():
    assert PAIRS["fmod"].right.low > 0.1 and PAIRS["fmod"].left == NORMAL
    assert PAIRS["logical_and"] == Pair(BOOLEAN, BOOLEAN)


@pytest.mark.parametrize("name", DECIDED_BY_ONE)
@pytest.mark.parametrize("count", [1, 2, 1024, 2**20])
def test_about_a_third_of_what_one_element_settles_is_of_the_other_kind(name, count):
    fill = DECIDED_BY_ONE[name](count)
    zeros = fill.low / (fill.low + fill.high)
    # `all` gives true where none is zero, `any` gives false where all are.
    unsettled = (1 - zeros if name == "all" else zeros) ** count
    # Towards 1 / e from a half, for a single element.
    assert 1 / math.e < unsettled <= 0.5


def test_what_is_reduced_is_counted_along_the_axes_or_whole():
    assert reduction_fill("all", (4, 5, 6), (0, 2)) == odds(1, 24)
    assert reduction_fill("any", (4, 5, 6), (1,)) == odds(5, 1)
    assert reduction_fill("any", (4, 5, 6), ()) == odds(120, 1)
    assert reduction_fill("prod", (4, 5, 6), ()) == NEAR_ONE
    assert reduction_fill("count_nonzero", (4,), (0,)) == BOOLEAN
    assert reduction_fill("sum", (4,), (0,)) == NORMAL
