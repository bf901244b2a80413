"""The words rules are written in: what fills tensors, and which tensors take a gradient."""

import msgspec
import pytest

from opperf.model import Fill, TensorSpec
from opperf.rules import values
from opperf.rules.values import (
    below,
    between,
    fixed,
    literal,
    odds,
    rounded_copy,
    same,
    sparse,
    tensor,
    tensors,
)


def test_limits_are_read_back_as_they_were_written():
    fill = between(0, 63)
    assert msgspec.json.encode(msgspec.json.decode(msgspec.json.encode(fill), type=Fill)) == (
        msgspec.json.encode(fill)
    )


def test_normal_numbers_are_of_the_standard_distribution():
    assert (values.NORMAL.distribution, values.NORMAL.low, values.NORMAL.high) == ("normal", 0, 1)


def test_what_logarithms_and_divisors_get_is_positive_and_on_both_sides_of_one():
    assert values.POSITIVE.distribution == "uniform"
    # A logarithm of it is negative as often as positive: the limits are each other's inverse.
    assert values.POSITIVE.low * values.POSITIVE.high == 1 and values.POSITIVE.low > 0


def test_probabilities_are_within_zero_and_one_and_come_near_both():
    fill = values.PROBABILITY
    assert 0 < fill.low < 0.1 and fill.low + fill.high == pytest.approx(1)


def test_the_open_unit_interval_is_symmetric_and_does_not_touch_one():
    fill = values.OPEN_UNIT
    assert 0.9 < fill.high < 1 and fill.low == -fill.high


def test_what_is_above_one_comes_near_it_where_arccosh_is_steepest():
    assert 1 < values.ABOVE_ONE.low < 1.5 and values.ABOVE_ONE.high > 2


def test_constants_and_boxes():
    assert (values.ZEROS.low, values.ONES.low) == (0, 1)
    assert (values.UNIT_BOXES.low, values.UNIT_BOXES.high) == (0, 1)


def test_whole_numbers_leave_their_limit_out_and_begin_with_zero():
    assert below(10) == Fill("integers", 0.0, 10.0)
    assert below(10, start=3) == Fill("integers", 3.0, 10.0)
    assert between(-1.0, 2.0) == Fill("uniform", -1.0, 2.0)
    assert odds(3, 5) == Fill("odds", 3.0, 5.0)


def test_written_data_is_kept_as_json_has_it():
    assert literal(((0, 1), [2, (3,)])).data == [[0, 1], [2, [3]]]
    assert literal(0.5).data == 0.5 and literal(()).data == []


def test_a_tensor_wants_a_gradient_and_a_fixed_one_takes_none():
    assert tensor(2, 3) == TensorSpec((2, 3), values.REQUESTED, values.NORMAL, gradient=True)
    assert fixed(2, 3) == TensorSpec((2, 3), values.REQUESTED, values.NORMAL, gradient=False)
    assert not tensor(2, gradient=False).gradient
    assert (
        sparse("csr", 2, 3, density=0.5).layout == "csr"
        and fixed(2, dtype="int32").dtype == "int32"
    )


def test_lists_of_tensors_may_be_made_one_by_one():
    assert tensors(tensor(extent) for extent in (1, 2)) == (tensor(1), tensor(2))


def test_a_copy_in_lower_precision_has_the_distribution_of_what_it_copies():
    fill = rounded_copy(between(0.0, 2.0), "weights.1")
    assert fill == Fill("uniform", 0.0, 2.0, of="weights.1")


def test_the_very_tensor_of_another_argument_takes_no_gradient_of_its_own():
    spec = same(sparse("csr", 2, 3, density=0.5, dtype="float64"), "weight")
    fill = Fill("same", data="weight")
    assert spec == TensorSpec((2, 3), "float64", fill, "csr", density=0.5)
