"""How slow cases are sampled, and when single calls decide."""

import math

import pytest

from opperf.comparison.ab.slow_calls import (
    ArmCalls,
    SlowPair,
    Visits,
    decided_passes,
    deciding_s,
    slow_pair,
)
from opperf.instruments.visit import FewCalls
from tests.comparison.ab.sessions import case, crashed, ok

NS = 1e9
ONE = ("forward",)


def calls(*seconds, passes=ONE, least_s=None):
    """Visits whose calls took this long."""
    records = tuple(ok(case("x", passes), value=NS * one) for one in seconds)
    return Visits(records, records[0], least_s)


def pair(a, b):
    return SlowPair({"A": a.calls, "B": b.calls})


def test_only_a_pair_with_a_call_beyond_its_time_is_slow():
    quick, slow = calls(0.04), calls(0.06)
    assert slow_pair({"A": quick.calls, "B": quick.calls}, ONE, 0.05) is None
    found = slow_pair({"A": quick.calls, "B": slow.calls}, ONE, 0.05, ("forward", "backward"))
    assert found.decided == ONE and found.slowest_s == pytest.approx(0.06)
    # Two passes share the time.
    assert slow_pair({"A": quick.calls}, ("forward", "backward"), 0.05) is not None


def test_the_first_call_is_a_sample_where_it_is_long_and_as_long_as_a_later_one():
    assert pair(calls(0.2), calls(0.3)).few_calls("A") == FewCalls()
    both = pair(calls(20, 20), calls(26, 25))
    assert [both.few_calls(arm).first_s for arm in "AB"] == [0.5, 0.5]
    assert not both.few_calls("A").is_gauged
    # What a first call does once would be a part of the time of one arm alone.
    for arm in "AB":
        assert pair(calls(20, 15), calls(26, 25)).few_calls(arm) == FewCalls(is_gauged=False)


def test_the_first_call_is_that_of_both_arms_unless_they_are_far_apart():
    assert pair(calls(0.95), calls(1.05, 1.05)).few_calls("B").first_s is None
    apart = pair(calls(0.1), calls(1.05, 1.05))
    assert [apart.few_calls(arm).first_s for arm in "AB"] == [None, 0.5]


@pytest.mark.parametrize(
    ("a", "b", "decided"),
    [
        (calls(0.1), calls(20, least_s=1.0), True),
        (calls(0.1), calls(20, 20), True),
        (calls(20, 20), calls(0.1), True),
        (calls(0.1), calls(20), False),
        (calls(0.1), calls(20, 0.1), False),
        (calls(3), calls(20, 20), False),
        (calls(0.01), calls(0.9, 0.9), False),
        (calls(0.0), calls(20, 20), False),
    ],
)
def test_calls_decide_that_are_far_apart_twice(a, b, decided):
    assert decided_passes(a, b, 0.0) == (["forward"] if decided else [])


def test_calls_that_are_close_decide_where_the_loss_is_large():
    close = calls(0.1), calls(0.11)
    assert decided_passes(*close, 0.0) == decided_passes(*close, math.log(9)) == []
    for loss in (math.log(10), -math.log(10)):
        assert decided_passes(*close, loss) == ["forward"]
    assert decided_passes(calls(0.1), calls(0.21), math.log(10)) == []


def test_a_later_call_is_ended_as_soon_as_it_decides():
    assert deciding_s(calls(0.05), calls(20).main) == 1.0
    assert deciding_s(calls(0.5), calls(20).main) == pytest.approx(5.0)
    assert deciding_s(calls(0.5), calls(4).main) is None
    both = ("forward", "backward")
    assert deciding_s(calls(0.5, passes=both), calls(20, passes=both).main) is None
    failed = crashed(case("x", ONE))
    assert deciding_s(calls(0.5), failed) is None
    assert deciding_s(Visits((failed,), failed), calls(20).main) is None


def test_the_ratio_may_be_as_small_as_the_later_call_has_shown():
    effect, low, high = pair(calls(0.1), calls(20, least_s=1.0)).effect("forward")
    assert math.exp(effect) == pytest.approx(200) and math.exp(low) == pytest.approx(10)
    assert 1.1 < math.exp(high - effect) < 1.3
    effect, low, high = pair(calls(20, 20), calls(0.1)).effect("forward")
    assert math.exp(effect) == pytest.approx(1 / 200) and high - effect == effect - low


def test_the_fastest_call_counts():
    assert ArmCalls({"forward": 18.0}, True) == calls(19, 18).calls
    assert not calls(20, 18).calls.is_steady
    assert not calls(20).calls.is_steady
