"""Which extents change together, found against frameworks made of one condition."""

import math

import pytest

from opperf.model import Fill, TensorSpec
from opperf.rules.extents import Place, elements, groups, places, stretch, with_extents
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


def test_an_extent_is_tried_at_twice_its_size_and_the_others_as_they_are():
    tried = []
    groups({"data": tensor(6, 10), "units": 30}, lambda one: tried.append(one) or True)
    assert [(one["data"].shape, one["units"]) for one in tried] == [((12, 10), 30), ((6, 20), 30)]


def test_tensors_that_follow_are_preferred_to_plain_values_that_could():
    arguments = {"data": tensor(32, 8), "weight": tensor(32, 8), "units": 32}
    tried = []

    def accepts(one):
        tried.append(one)
        return one["data"].shape == one["weight"].shape

    assert names(groups(arguments, accepts)) == [{"data[0]", "weight[0]"}, {"data[1]", "weight[1]"}]
    assert all(one["units"] == 32 for one in tried)


def test_a_window_is_less_than_eight():
    accepts = lambda one: one["weight"].shape == (one["units"],)  # noqa: E731
    assert groups({"weight": tensor(7), "units": 7}, accepts) == []
    assert names(groups({"weight": tensor(8), "units": 8}, accepts)) == [
        {"weight[0]", "units[None]"}
    ]


def test_small_extents_of_tensors_follow_all_the_same():
    arguments = {"lhs": tensor(2), "rhs": tensor(2)}
    found = groups(arguments, lambda one: one["lhs"].shape == one["rhs"].shape)
    assert names(found) == [{"lhs[0]", "rhs[0]"}]


@pytest.mark.parametrize("extent", [4, 64])
def test_extents_of_another_size_never_follow(extent):
    arguments = {"data": tensor(16), "other": tensor(extent)}
    # Taken if both come to one size, which no doubling of extents of one size does.
    assert groups(arguments, lambda one: one["data"].shape == one["other"].shape) == []


def test_what_follows_by_arithmetic_stays():
    arguments = {"data": tensor(4, 8), "flat": tensor(32)}
    assert groups(arguments, lambda one: math.prod(one["data"].shape) == one["flat"].size) == []


def test_others_of_the_same_size_that_do_not_help_stay_as_well():
    arguments = {"data": tensor(4, 4), "flat": tensor(16)}
    assert groups(arguments, lambda one: math.prod(one["data"].shape) == one["flat"].size) == []


def test_tensors_of_written_data_keep_their_shape():
    arguments = {"data": tensor(8), "rows": fixed(2, fill=literal((0, 1)))}
    assert {place.argument for place in places(arguments)} == {"data"}


def test_places_are_axes_of_tensors_and_whole_numbers_and_nothing_else():
    arguments = {
        "data": tensor(4, 6),
        "args": tensors([tensor(3)]),
        "kernel": (5, 7),
        "units": 9,
        "p": 0.5,
        "flag": True,
        "scales": (0.5, 1.5),
        "mode": "same",
        "none": None,
        "out": same(tensor(4, 6), "data"),
        "held": fixed(2, fill=Fill("given", digest="x")),
    }
    assert places(arguments) == {
        Place("data", None, 0, True): 4,
        Place("data", None, 1, True): 6,
        Place("args", 0, 0, True): 3,
        Place("kernel", None, 0, False): 5,
        Place("kernel", None, 1, False): 7,
        Place("units", None, None, False): 9,
    }


def test_a_tensor_with_numbers_beside_it_in_a_list_has_its_own_place():
    arguments = {"index": (tensor(4), 3)}
    assert places(arguments) == {Place("index", 0, 0, True): 4, Place("index", 1, None, False): 3}
    made = with_extents(arguments, {Place("index", 0, 0, True): 8})
    assert made == {"index": (tensor(8), 3)}


def test_only_the_places_that_are_named_change():
    arguments = {"data": tensor(4, 6), "kernel": (4, 6), "units": 4, "p": 0.5, "mode": "valid"}
    made = with_extents(
        arguments, {Place("data", None, 1, True): 12, Place("kernel", None, 0, False): 8}
    )
    assert made == arguments | {"data": tensor(4, 12), "kernel": (8, 6)}
    assert with_extents(arguments, {Place("units", None, None, False): 5})["units"] == 5


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


def test_of_two_extents_of_one_size_indices_keep_to_the_less():
    arguments = {"data": fixed(8, fill=below(100)), "lhs": tensor(100), "rhs": tensor(100)}
    lhs, rhs = Place("lhs", None, 0, True), Place("rhs", None, 0, True)

    def limit(**extents):
        places = {"lhs": lhs, "rhs": rhs}
        made = with_extents(arguments, {places[name]: size for name, size in extents.items()})
        return made["data"].fill.high

    assert limit(lhs=10) == limit(rhs=10) == limit(lhs=10, rhs=20) == limit(lhs=20, rhs=10) == 10
    # The other one still has a hundred.
    assert limit(lhs=200) == 100 and limit(lhs=200, rhs=300) == 200


def test_an_axis_of_one_and_a_plain_value_bound_no_indices():
    arguments = {"index": fixed(8, fill=below(1)), "data": tensor(1, 8)}
    made = with_extents(arguments, {Place("data", None, 0, True): 16})
    assert made["index"].fill == below(1)
    arguments = {"index": fixed(8, fill=below(32)), "units": 32}
    assert with_extents(arguments, {Place("units", None, None, False): 4})["index"].fill.high == 32


def test_a_range_of_indices_is_never_empty():
    arguments = {"index": fixed(8, fill=below(100, start=20)), "weight": tensor(100)}
    made = with_extents(arguments, {Place("weight", None, 0, True): 10})
    assert made["index"].fill == below(21, start=20)


@pytest.mark.parametrize("distribution", ["uniform", "boxes", "constant"])
def test_other_fills_have_no_bound_to_follow(distribution):
    fill = Fill(distribution, 0.0, 100.0)
    arguments = {"data": tensor(8, fill=fill), "weight": tensor(100)}
    made = with_extents(arguments, {Place("weight", None, 0, True): 10})
    assert made["data"].fill == fill


def test_a_shared_tensor_may_be_an_element_of_a_list():
    arguments = {
        "weights": tensors([tensor(8, 4), tensor(6)]),
        "out": tensors([same(tensor(8, 4), "weights.0"), same(tensor(6), "weights.1")]),
    }
    made = with_extents(arguments, {Place("weights", 1, 0, True): 12})
    assert [spec.shape for spec in made["out"]] == [(8, 4), (12,)]


def test_a_shared_tensor_of_no_single_tensor_keeps_its_shape():
    arguments = {"weights": tensors([tensor(8)]), "out": same(tensor(8), "weights")}
    assert with_extents(arguments, {Place("weights", 0, 0, True): 16})["out"].shape == (8,)


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
    made = stretch(arguments, free, dict.fromkeys(free, 1.0), wanted)
    assert made["lhs"].shape[1] == made["rhs"].shape[0]
    # Extents are whole numbers, so the product misses by what rounding two of them leaves out.
    assert max(1, wanted * 0.3) <= elements(made) <= wanted


def test_shares_are_of_the_logarithm():
    arguments = {"data": tensor(4, 4)}
    free = groups(arguments, lambda one: True)
    made = stretch(arguments, free, {free[0]: 3.0, free[1]: 1.0}, 10_000)
    assert made["data"].shape == pytest.approx((1000, 10), rel=0.1)


@pytest.mark.parametrize(("shares", "shape"), [((1.0, 1.0), (256, 256)), ((1.0, 3.0), (16, 4096))])
def test_a_number_of_elements_that_shares_divide_is_met_exactly(shares, shape):
    free = groups({"data": tensor(4, 4)}, lambda one: True)
    made = stretch({"data": tensor(4, 4)}, free, dict(zip(free, shares, strict=True)), 2**16)
    assert made["data"].shape == shape


def test_extents_that_cannot_change_count_among_the_elements():
    arguments = {"data": tensor(16, 10)}
    rows = [group for group in groups(arguments, lambda one: True) if group[0].axis == 0]
    assert stretch(arguments, rows, dict.fromkeys(rows, 1.0), 1005)["data"].shape == (100, 10)


def test_elements_are_those_of_the_largest_tensor():
    assert elements({"a": TensorSpec((3, 4)), "b": (TensorSpec((5, 5)), TensorSpec((1,)))}) == 25
    assert elements({"axis": 1}) == 0
