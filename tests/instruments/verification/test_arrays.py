"""Equality of arrays, beside the same array in float64, in NumPy alone."""

import math

import numpy as np
import pytest

from opperf.instruments.verification.arrays import (
    Array,
    are_identical,
    compare,
    multiplier_of,
    relative_errors,
)

TOLERANCE = 1e-4


def array(values, dtype=None, shape=None):
    made = np.asarray(values)
    return Array(dtype or made.dtype.name, shape or made.shape, made.reshape(-1))


def single(values, shape=None):
    return array(np.asarray(values, "float32"), shape=shape)


@pytest.fixture
def exact():
    """2,000 numbers in float64, of the size of 1."""
    return np.random.default_rng(0).uniform(0.5, 1.5, 2000)


def test_equal_elements_are_equal_exactly():
    found = compare(single([1, 2]), single([1, 2]), None, TOLERANCE)
    assert found.method == "exact" and found.is_equal and found.errors.max == 0


@pytest.mark.parametrize(
    "found, reason",
    [
        (array(np.ones(4)), "its dtype is float64, and in eager mode float32"),
        (single(np.ones((2, 2))), "its shape is (2, 2), and in eager mode (4,)"),
        (single(np.ones(0)), "its shape is (0,), and in eager mode (4,)"),
    ],
)
def test_the_dtype_and_the_shape_have_to_match(found, reason):
    assert compare(single(np.ones(4)), found, None, TOLERANCE).reason == reason


@pytest.mark.parametrize("share, method", [(0.9, "allclose"), (1.2, "rmse")])
def test_the_tolerance_is_a_share_and_an_amount(share, method):
    # Of 100 the tolerance is 1e-4 * 100 + 1e-4.
    expected, double = single([100.0] * 5), array([100.0] * 5)
    found = single([100.0 + share * 1.01e-2] * 5)
    assert compare(expected, found, double, TOLERANCE).method == method


def test_as_much_rounding_as_eager_has_is_no_fault(exact):
    noise = np.random.default_rng(1).normal(0, 1e-2, (2, len(exact)))
    eager, other = (single(exact + own) for own in noise)
    found = compare(eager, other, array(exact), TOLERANCE)
    assert found.is_equal and found.method == "rmse"
    # Without the run in float64 nothing elementwise can be said.
    assert compare(eager, other, None, TOLERANCE).method == "cosine"


def test_one_percent_is_found_where_eager_is_right(exact):
    found = compare(single(exact), single(1.01 * exact), array(exact), TOLERANCE)
    assert not found.is_equal and found.method == "rmse"
    assert found.error == pytest.approx(0.01 * math.sqrt(np.mean(exact**2)), rel=1e-3)
    assert found.allowed == pytest.approx(1e-5, rel=1e-2)
    assert "root mean square error from float64 is 0.01" in found.reason
    assert found.errors.max == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("ratio, equal", [(1.9, True), (2.2, False)])
def test_the_error_may_be_twice_that_of_eager(exact, ratio, equal):
    eager, other = single(exact + 1e-2), single(exact + ratio * 1e-2)
    assert compare(eager, other, array(exact), TOLERANCE).is_equal is equal


@pytest.mark.parametrize(
    "shape, dtype, tolerance, multiplier",
    [
        ((1000,), "float32", 1e-4, 2),
        ((999,), "float32", 1e-4, 3),
        ((2000,), "float16", 1e-4, 3),
        ((2000,), "bfloat16", 1e-4, 3),
        ((2000,), "float32", 2e-2, 3),
        ((40, 40, 1, 1), "float32", 1e-4, 3),
        ((40, 40, 1), "float32", 1e-4, 2),
        ((40, 40, 3, 1), "float32", 1e-4, 2),
    ],
)
def test_the_multiplier(shape, dtype, tolerance, multiplier):
    expected = Array(dtype, shape, np.ones(math.prod(shape)))
    assert multiplier_of(expected, tolerance) == multiplier


def test_an_error_where_eager_has_none_is_allowed_a_tenth_of_the_tolerance(exact):
    eager = array(exact, "float32")
    for offset, equal in ((0.9e-3, True), (1.1e-3, False)):
        # Some elements are beyond the tolerance of each.
        other = exact.copy()
        other[0] += offset * math.sqrt(len(exact))
        assert compare(eager, array(other, "float32"), array(exact), 1e-2).is_equal is equal


def test_nan_equals_nan_and_no_number():
    odd = single([1, np.nan, np.inf, -np.inf])
    assert compare(odd, odd, odd, TOLERANCE).method == "exact"
    for values in ([1, 2, np.inf, -np.inf], [np.nan, np.nan, np.inf, -np.inf]):
        found = compare(odd, single(values), odd, TOLERANCE)
        assert found.reason == "1 of 4 elements are finite numbers in one of the modes only"
    swapped = compare(odd, single([1, np.nan, -np.inf, np.inf]), odd, TOLERANCE)
    assert swapped.reason.startswith("2 of 4 elements")
    assert not compare(odd, single([1, 2, np.inf, -np.inf]), None, TOLERANCE).is_equal


def test_where_eager_alone_overflows_the_mode_may_be_right():
    double = array([1e5, 1.0])
    eager, found = array([np.inf, 1.0], "float16"), array([1e5, 1.0], "float16")
    assert compare(eager, found, double, 1e-3).is_equal
    # The other way round it is not.
    assert not compare(found, eager, double, 1e-3).is_equal


def test_zeros():
    zeros = single(np.zeros(5))
    assert compare(zeros, zeros, array(np.zeros(5)), TOLERANCE).method == "exact"
    near = compare(zeros, single(np.full(5, 5e-5)), None, TOLERANCE)
    assert near.method == "allclose" and math.isinf(near.errors.max)
    far = compare(zeros, single(np.full(5, 1e-3)), None, TOLERANCE)
    assert far.method == "cosine" and far.error == 0 and not far.is_equal
    assert not compare(zeros, single(np.full(5, 1e-3)), array(np.zeros(5)), TOLERANCE).is_equal


@pytest.mark.parametrize("angle, equal", [(0.14, True), (0.15, False)])
def test_the_cosine_of_all_elements(angle, equal):
    expected, other = single([1, 0]), single([math.cos(angle), math.sin(angle)])
    found = compare(expected, other, None, TOLERANCE)
    assert found.method == "cosine" and found.is_equal is equal
    assert found.error == pytest.approx(math.cos(angle), rel=1e-6)


def test_an_array_in_float64_of_another_shape_is_no_reference():
    found = compare(single([1.0, 2.0]), single([1.1, 2.2]), array([1.0]), TOLERANCE)
    assert found.method == "cosine" and found.is_equal


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_integers_have_to_be_the_same(dtype):
    expected = np.arange(6).astype(dtype)
    other = expected.copy()
    other[0] = 1
    assert compare(array(expected), array(expected), None, 0.5).method == "exact"
    found = compare(array(expected), array(other), array(expected), 0.5)
    assert found.reason == "1 of 6 elements differ" and found.error == 1


def test_integers_of_64_bits_are_not_rounded():
    expected = array(np.array([2**60]))
    assert not compare(expected, array(np.array([2**60 + 1])), None, TOLERANCE).is_equal
    assert not are_identical(expected, array(np.array([2**60 + 1])))


def test_both_parts_of_complex_numbers_count():
    expected = array(np.array([1 + 1j, 2 - 1j], "complex64"))
    other = array(np.array([1 + 1.01j, 2 - 1j], "complex64"))
    double = array(np.array([1 + 1j, 2 - 1j]))
    assert compare(expected, expected, double, TOLERANCE).is_equal
    assert not compare(expected, other, double, TOLERANCE).is_equal


def test_numbers_of_any_size_have_a_root_mean_square():
    exact = np.full(2000, 1e300)
    found = compare(array(exact), array(1.01 * exact), array(exact), TOLERANCE)
    assert not found.is_equal and math.isfinite(found.error)


def test_two_runs_are_identical_or_not():
    assert are_identical(single([1, np.nan]), single([1, np.nan]))
    assert not are_identical(single([1, 2]), single([1, 2.000001]))
    assert not are_identical(single([1, 2]), single([[1, 2]]))
    assert not are_identical(single([1, 2]), array([1.0, 2.0]))


def test_errors_are_shares_of_the_element_or_of_the_typical_one():
    errors = relative_errors(np.array([3.0, 0.0]), np.array([3.3, 0.3]))
    size = 3 / math.sqrt(2)
    assert errors.max == pytest.approx(0.3 / size) and errors.elements == 2
    assert errors.mean == pytest.approx((0.1 + 0.3 / size) / 2)
    assert relative_errors(np.array([]), np.array([])).elements == 0
    assert math.isinf(relative_errors(np.array([np.inf, 1]), np.array([1.0, 1])).max)
