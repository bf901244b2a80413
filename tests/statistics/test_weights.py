"""Totals of count times time."""

import math

import pytest

from opperf.statistics.weights import Alone, Weighed, geometric_mean, weigh


def test_totals_and_both_averages_by_hand():
    # 10 calls of 1 ns that take 2 ns now, and 1 call of 90 ns that takes 45 ns.
    found = weigh([Weighed("relu", 10, 10, 1.0, 2.0), Weighed("mm", 1, 1, 90.0, 45.0)])
    assert (found.base_ns, found.new_ns, found.change_ns) == (100.0, 65.0, -35.0)
    assert found.ratio == pytest.approx(0.65)
    assert found.geometric_mean == pytest.approx(math.exp(9 * math.log(2) / 11))
    assert (found.cases, found.base_calls, found.new_calls) == (2, 11, 11)
    assert found.half_width_ns is None


def test_operators_are_sorted_by_the_size_of_their_change():
    cases = [
        Weighed("relu", 10, 10, 1.0, 2.0),
        Weighed("mm", 1, 1, 90.0, 45.0),
        Weighed("mm", 1, 1, 100.0, 100.0),
    ]
    mm, relu = weigh(cases).operators
    assert (mm.operator, mm.cases, mm.base_ns, mm.new_ns) == ("mm", 2, 190.0, 145.0)
    assert (mm.change_ns, relu.change_ns) == (-45.0, 10.0)
    assert (mm.of_total, relu.of_total) == pytest.approx((-0.225, 0.05))
    assert (mm.of_change, relu.of_change) == pytest.approx((45 / 35, -10 / 35))
    assert mm.ratio == pytest.approx(145 / 190)


def test_turning_the_sides_inverts_the_averages():
    cases = [Weighed("a", 3, 3, 2.0, 5.0), Weighed("b", 7, 7, 4.0, 3.0)]
    one = weigh(cases)
    other = weigh(c._replace(base_ns=c.new_ns, new_ns=c.base_ns) for c in cases)
    assert one.ratio * other.ratio == pytest.approx(1)
    assert one.geometric_mean * other.geometric_mean == pytest.approx(1)
    assert one.change_ns == -other.change_ns


def test_a_change_of_the_count_is_one_of_the_total_and_not_of_the_mean():
    found = weigh([Weighed("relu", 4, 2, 3.0, 3.0)])
    assert (found.base_ns, found.new_ns, found.recounted) == (12.0, 6.0, 1)
    assert found.geometric_mean == 1.0 and found.ratio == 0.5


def test_half_widths_grow_with_the_counts():
    cases = [Weighed("a", 3, 3, 9.0, 9.0, (1.0, 0.0)), Weighed("a", 2, 2, 9.0, 9.0, (0.0, 2.0))]
    assert weigh(cases).half_width_ns == pytest.approx(5.0)
    (part,) = weigh(cases).operators
    assert part.half_width_ns == pytest.approx(5.0)
    unknown = weigh([*cases, Weighed("a", 1, 1, 9.0, 9.0)])
    assert unknown.half_width_ns is None


def test_times_of_zero_have_no_ratio():
    found = weigh([Weighed("a", 1, 1, 0.0, 0.0)])
    assert found.ratio is None and found.geometric_mean is None
    assert found.operators[0].of_total is None and found.operators[0].of_change is None


def test_cases_of_one_side_come_by_their_time():
    alone = [Alone("new", "b", "", 1, 5.0), Alone("base", "a", "", 2, 9.0)]
    found = weigh([Weighed("a", 1, 1, 1.0, 1.0)], alone, ["forward"], 7)
    assert [one.operator for one in found.alone] == ["a", "b"]
    assert (found.metrics, found.unmeasured_calls) == (("forward",), 7)


def test_a_geometric_mean_is_of_the_weights():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([2.0, 8.0], [2, 1]) == pytest.approx(32 ** (1 / 3))
    assert math.isnan(geometric_mean([])) and math.isnan(geometric_mean([2.0], [0]))
