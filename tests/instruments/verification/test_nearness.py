"""Results beside those of a reference: what rounding explains, and what it does not."""

import numpy as np
import pytest

from opperf.instruments.verification.arrays import Array
from opperf.instruments.verification.nearness import (
    CHANGES,
    SINGLE,
    Allowed,
    Wanted,
    compare,
    rounding_of,
)

DRAW = np.random.default_rng(3)


def compared(expected, found, dtype="", terms=1, **more):
    found = np.asarray(found)
    array = Array(dtype or found.dtype.name, found.shape, found)
    allowed = Allowed(rounding_of(array.dtype), terms, **more)
    return compare(Wanted("output", np.asarray(expected), array), allowed)


def in_bfloat16(values):
    """Rounds to the nearest number of bfloat16."""
    bits = np.asarray(values, "float32").view("uint32")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view("float32")


@pytest.mark.parametrize("magnitude", [1e-20, 1e-3, 1.0, 1e6, 1e20])
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_sums_of_single_precision_in_any_order_are_right_at_any_magnitude(magnitude, offset):
    x = ((DRAW.standard_normal((200, 4096)) + offset) * magnitude).astype("float32")
    expected = x.astype("float64").sum(1)
    in_turn = np.cumsum(x, axis=1, dtype="float32")[:, -1]
    for found in (x.sum(1), in_turn, x[:, ::-1].sum(1)):
        assert compared(expected, found, terms=4096).is_equal
    rounded = in_bfloat16(x).sum(1)
    assert not compared(expected, rounded, terms=4096).is_equal
    assert not compared(expected, in_bfloat16(expected), terms=4096).is_equal


@pytest.mark.parametrize("length", [64, 1024])
def test_products_of_single_precision_inside_a_shorter_one_are_wrong(length):
    x, y = (DRAW.standard_normal((length, length)).astype("float32") for _ in range(2))
    expected = x.astype("float64") @ y.astype("float64")
    assert compared(expected, x @ y, terms=length).is_equal
    shorter = in_bfloat16(x) @ in_bfloat16(y)
    found = compared(expected, shorter, terms=length)
    assert not found.is_equal and found.error > 10 * found.allowed


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_is_certainly_wrong_is(change, dtype):
    x = DRAW.random((64, 32))
    right = x.astype(dtype)
    assert compared(x, right, terms=1).is_equal
    assert not compared(x, CHANGES[change](right), terms=1).is_equal


@pytest.mark.parametrize(
    "place, value", [((3, 4), np.nan), ((0, 0), np.inf), ((-1, -1), 0.0), ((5, 5), 1e9)]
)
def test_one_wrong_element_is_found(place, value):
    x = DRAW.standard_normal((64, 64)) + 3
    found = x.astype("float32")
    found[place] = value
    assert not compared(x, found).is_equal


def test_nan_and_infinity_are_right_where_the_reference_has_them():
    expected = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert compared(expected, expected.astype("float32")).is_equal
    for wrong in ([0, np.inf, -np.inf, 1], [np.nan, -np.inf, -np.inf, 1], [np.nan] * 4):
        assert not compared(expected, np.array(wrong, "float32")).is_equal
    # What is too large for a dtype is infinite in it.
    assert compared(np.array([1e39, 1.0]), np.array([np.inf, 1], "float32")).is_equal
    assert not compared(np.array([1e37, 1.0]), np.array([np.inf, 1], "float32")).is_equal


def test_a_softmax_of_many_classes_is_no_zero():
    x = DRAW.standard_normal(393_216)
    expected = np.exp(x) / np.exp(x).sum()
    assert compared(expected, expected.astype("float32"), terms=x.size).is_equal
    assert not compared(expected, np.zeros_like(expected, "float32"), terms=x.size).is_equal


def test_whole_numbers_have_to_be_the_same():
    assert compared([1, 2], np.array([1, 2])).is_equal
    assert compared([True, False], np.array([True, True])).error == 1
    assert not compared([1.0, 2.5], np.array([1, 2])).is_equal


def test_an_element_that_the_inputs_rounding_moves_far_may_be_off_by_it():
    expected = np.array([1.0, 2.0, 3.0, 4.0])
    found = (expected + [0, 0, 3e-5, 0]).astype("float32")
    assert not compared(expected, found).is_equal
    assert compared(expected, found, sensitivity=np.array([0, 0, 500.0, 0])).is_equal
    # A step is no rounding.
    found = (expected + [0, 0, 1, 0]).astype("float32")
    assert not compared(expected, found, sensitivity=1e9).is_equal


def test_a_shorter_dtype_has_its_own_rounding_and_no_longer_sums():
    x = DRAW.standard_normal(1000)
    assert compared(x, in_bfloat16(x), dtype="bfloat16").is_equal
    assert not compared(x, in_bfloat16(x), dtype="float32").is_equal
    assert Allowed(2.0**-8, 10**6).unit == 2.0**-8 and Allowed(SINGLE, 100).unit == 10 * SINGLE
