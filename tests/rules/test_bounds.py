"""What bounds the whole numbers of a rule's inputs, found from its configurations."""

import pytest

from opperf.model import Fill, Kind, Operator, Parameter, TensorSpec
from opperf.rules.bounds import find_bounds
from opperf.rules.values import below, literal


def data(*shape):
    return TensorSpec(shape)


def indices(*shape, fill):
    return TensorSpec(shape, "int64", fill)


def limit(configurations, call, place="i", operator=None):
    return find_bounds(configurations, operator).limit(place, call)


def test_an_axis_that_is_named():
    """Both configurations have it, and the other axes are limits of one of them only."""
    rule = [
        {"x": data(8, 9), "dim": dim, "i": indices(4, fill=below(extent))}
        for dim, extent in ((0, 8), (1, 9))
    ]
    for dim, expected in ((0, 30), (1, 40), (-1, 40)):
        assert limit(rule, {"x": data(30, 40), "dim": dim, "i": data(4)}) == expected
    assert limit(rule, {"x": data(30, 40), "dim": 2, "i": data(4)}) is None


@pytest.mark.parametrize(("default", "expected"), [("None", 1200), ("1", 40)])
def test_an_axis_that_is_omitted(default, expected):
    axis = Parameter("axis", Kind.INT, False, default)
    operator = Operator("f", "f", "take", parameters=(axis,))
    rule = [{"x": data(8, 9), "axis": 0, "i": indices(4, fill=below(8))}]
    assert limit(rule, {"x": data(30, 40), "i": data(4)}, operator=operator) == expected


def test_a_fixed_axis_a_number_and_all_elements():
    rows = [{"w": data(n, 9), "i": indices(4, fill=below(n))} for n in (8, 9)]
    assert limit(rows, {"w": data(100, 7), "i": data(4)}) == 100
    classes = [{"i": indices(4, fill=below(n)), "classes": n} for n in (8, 9)]
    assert limit([*classes, {"i": indices(4, fill=below(7))}], {"classes": 3, "i": data(4)}) == 3
    flat = [{"x": data(n, 3), "i": indices(4, fill=below(3 * n))} for n in (8, 9)]
    assert limit(flat, {"x": data(5, 7), "i": data(4)}) == 35


def test_the_axis_of_each_of_a_list():
    listed = (indices(4, fill=below(8)), indices(4, fill=below(9)))
    call = {"x": data(30, 40), "i": (data(4), data(4))}
    found = [limit([{"x": data(8, 9), "i": listed}], call, f"i.{i}") for i in (0, 1)]
    assert found == [30, 40]


def test_a_column_for_each_point_is_below_all_axes_that_it_is_of():
    rule = [
        {"x": data(n, m), "i": indices(2, 50, fill=below(min(n, m)))} for n, m in ((8, 9), (9, 8))
    ]
    assert limit(rule, {"x": data(30, 5), "i": indices(2, 50, fill=Fill())}) == 5
    assert limit(rule, {"x": data(30, 5), "i": indices(1, 50, fill=Fill())}) == 30


def test_lengths_reach_the_extent_itself():
    rule = [{"x": data(n, 3), "i": indices(4, fill=below(n + 1, start=1))} for n in (8, 9)]
    assert limit(rule, {"x": data(20, 3), "i": data(4)}) == 21


def test_numbers_that_no_extent_bounds_are_free():
    rule = [{"x": data(n, 3), "i": indices(4, fill=below(64))} for n in (8, 9)]
    found = find_bounds(rule)
    assert found.is_free("i") and found.limit("i", {"x": data(8, 3)}) is None
    # Below every extent, they may index any.
    small = find_bounds([{"x": data(n, 300), "i": indices(4, fill=below(64))} for n in (80, 90)])
    assert not small.is_free("i") and small.limit("i", {"x": data(80, 300)}) is None


@pytest.mark.parametrize("fill", [Fill("sequence"), literal([0, 2, 5, 7])])
def test_numbers_in_order_are_below_all_that_may_limit_them(fill):
    rule = [{"w": data(100, 9), "i": indices(4, fill=fill), "x": data(50)}]
    assert limit(rule, {"w": data(100, 9), "i": data(4), "x": data(6)}) == 6


def test_numbers_in_a_random_order_are_of_the_axis_that_is_named():
    rule = [{"x": data(9, 3), "dim": 0, "i": indices(4, fill=Fill("permutation")), "y": data(4, 3)}]
    assert limit(rule, {"x": data(20, 3), "dim": 0, "i": data(4), "y": data(4, 3)}) == 20
