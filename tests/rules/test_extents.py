"""Which extents change together, found against frameworks made of one condition."""

import math

import pytest

from opperf.model import Fill, TensorSpec
from opperf.rules.extents import elements, groups, places, stretched, with_extents
from opperf.rules.values import below, fixed, literal, same, tensor, tensors


def names(found):
    """Groups as sets of `argument[axis]`."""
    return [{f"{p.argument}[{p.axis}]" for p in group} for group in found]


def test_extents_of_elementwise_inputs_are_tied_axis_by_axis():
    arguments = {"lhs": tensor(16, 32), "rhs": tensor(16, 32)}
    found = groups(arguments, lambda one: one["lhs"].shape == one["rhs"].shape)
    assert names(found) == [{"lhs[0]", "rhs[0]"}, {"lhs[1]", "rhs[1]"}]


def test_extents_of_equal_size_are_told_apart():
    arguments = {"lhs": tensor(64, 64), "rhs": tensor(64, 64)}
    found = groups(arguments, lambda one: one["lhs"].shape[1] == one["rhs"].shape[0])
    assert names(found) == [{"lhs[0]"}, {"lhs[1]", "rhs[0]"}, {"rhs[1]"}]


def test_a_plain_value_follows_only_where_it_has_to():
    arguments = {"data": tensor(32, 8), "weight": tensor(32, 8), "units": 32, "other": 32}

    def accepts(one):
        data, weight = one["data"], one["weight"]
        return data.shape[1] == weight.shape[1] and weight.shape[0] == one["units"]

    assert names(groups(arguments, accepts)) == [
        {"data[0]"},
        {"data[1]", "weight[1]"},
        {"weight[0]", "units[None]"},
    ]


def test_small_plain_values_are_windows_and_stay():
    arguments = {"weight": tensor(16, 3), "kernel": (3,)}
    accepts = lambda one: one["weight"].shape[1:] == one["kernel"]  # noqa: E731
    assert names(groups(arguments, accepts)) == [{"weight[0]"}]
    assert names(groups(arguments, accepts, least=1)) == [{"weight[0]"}, {"weight[1]", "kernel[0]"}]


def test_what_follows_by_arithmetic_stays():
    arguments = {"data": tensor(4, 8), "flat": tensor(32)}
    assert groups(arguments, lambda one: math.prod(one["data"].shape) == one["flat"].size) == []


def test_tensors_of_written_data_keep_their_shape():
    arguments = {"data": tensor(8), "rows": fixed(2, fill=literal((0, 1)))}
    assert {place.argument for place in places(arguments)} == {"data"}


def test_lists_are_changed_element_by_element():
    arguments = {"args": tensors([tensor(4, 8), tensor(4, 8)]), "axis": 1}
    found = groups(arguments, lambda one: len({spec.shape[0] for spec in one["args"]}) == 1)
    assert [{(p.element, p.axis) for p in group} for group in found] == [
        {(0, 0), (1, 0)},
        {(0, 1)},
        {(1, 1)},
    ]


def test_indices_stay_in_range_of_the_smallest_extent_they_may_index():
    arguments = {"data": fixed(8, fill=below(100)), "weight": tensor(100, 4)}
    rows = [place for place in places(arguments) if place.argument == "weight" and place.axis == 0]
    made = with_extents(arguments, dict.fromkeys(rows, 10))
    assert made["data"].fill == Fill("integers", 0.0, 10.0) and made["weight"].shape == (10, 4)


def test_a_shared_tensor_has_its_owners_shape():
    weight = tensor(8, 4)
    arguments = {"weight": weight, "out": same(weight, "weight")}
    (rows, _) = groups(arguments, lambda one: one["out"].shape == one["weight"].shape)
    made = with_extents(arguments, dict.fromkeys(rows, 3))
    assert made["out"].shape == made["weight"].shape == (3, 4)


@pytest.mark.parametrize("wanted", [1, 10, 1000, 12345, 2**22])
def test_inputs_are_stretched_to_so_many_elements_and_not_more(wanted):
    arguments = {"lhs": tensor(4, 8), "rhs": tensor(8, 6)}
    free = groups(arguments, lambda one: one["lhs"].shape[1] == one["rhs"].shape[0])
    made = stretched(arguments, free, dict.fromkeys(free, 1.0), wanted)
    assert made["lhs"].shape[1] == made["rhs"].shape[0]
    # Extents are whole numbers, so the product misses by what rounding two of them leaves out.
    assert max(1, wanted * 0.3) <= elements(made) <= wanted


def test_shares_are_of_the_logarithm():
    arguments = {"data": tensor(4, 4)}
    free = groups(arguments, lambda one: True)
    made = stretched(arguments, free, {free[0]: 3.0, free[1]: 1.0}, 10_000)
    assert made["data"].shape == pytest.approx((1000, 10), rel=0.1)


def test_elements_are_those_of_the_largest_tensor():
    assert elements({"a": TensorSpec((3, 4)), "b": (TensorSpec((5, 5)), TensorSpec((1,)))}) == 25
    assert elements({"axis": 1}) == 0
