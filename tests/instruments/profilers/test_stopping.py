"""When enough was sampled."""

import math
import sys

import pytest

from opperf.defaults import MAX_TIME_S
from opperf.instruments.profilers.sampling import (
    Count,
    Precision,
    SamplesSoFar,
    Time,
    criteria,
    limit_s,
    most_loops,
)
from opperf.model import Settings


def taken(n=0, spent_s=0.0, samples=()):
    return SamplesSoFar(samples, n, spent_s)


TEN = [950.0, 950.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1050.0, 1050.0]
"""Samples whose median, 1000, has an interval from the second to the ninth: 5 % on both sides."""


def test_precision_is_met_by_an_interval_that_is_narrow():
    assert Precision(0.05).met(taken(10, samples=TEN))
    assert not Precision(0.049).met(taken(10, samples=TEN))


def test_precision_takes_ten_samples_at_least():
    assert Precision(0.05).met(taken(10, samples=[1000.0] * 10))
    assert not Precision(0.05).met(taken(9, samples=[1000.0] * 9))


def test_a_phase_without_kernels_has_no_precision_to_wait_for():
    assert Precision(0.05).met(taken(10)) and not Precision(0.05).met(taken(9))


@pytest.mark.parametrize(
    ("n", "room"),
    # To ten at first, and then half as many again, but five at a time at least.
    [(0, 10), (4, 6), (5, 5), (6, 5), (10, 5), (11, 5), (12, 6), (40, 20), (41, 20)],
)
def test_precision_is_asked_again_after_half_as_many_samples(n, room):
    assert Precision(0.1).room(taken(n), 1.0) == room


def test_time_is_met_when_it_is_spent_but_not_before_three_samples():
    assert Time(2.0).met(taken(3, 2.0))
    assert not Time(2.0).met(taken(3, 1.9))
    assert not Time(2.0).met(taken(2, 99.0))


@pytest.mark.parametrize(
    ("n", "spent_s", "room"),
    [(4, 4.0, 3), (4, 4.1, 2), (0, 0.0, 5), (1, 40.0, 2), (2, 9.0, 1), (4, 9.0, 0)],
)
def test_time_has_room_for_what_fits(n, spent_s, room):
    assert Time(10.0).room(taken(n, spent_s), 2.0) == room


def test_one_sample_is_enough_in_any_time_where_that_is_asked_for():
    assert [Time(10.0, 1).met(taken(n, 20.0)) for n in (0, 1)] == [False, True]
    assert Time(10.0, 1).room(taken(0, 20.0), 30.0) == 1
    assert set(criteria(Settings(max_time_s=3.0), 0.5, 1)) == {Precision(0.02), Time(1.5, 1)}


def test_count_is_met_by_so_many():
    assert [Count(10).met(taken(n)) for n in (9, 10, 11)] == [False, True, True]
    assert Count(10).room(taken(4), 1.0) == 6


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        (Settings(), MAX_TIME_S),
        (Settings(runs=7), None),
        (Settings(max_time_s=3.0), 3.0),
        (Settings(runs=7, max_time_s=3.0), 3.0),
    ],
)
def test_time_is_limited_unless_calls_are_counted(settings, limit):
    assert limit_s(settings) == limit


def test_criteria_are_those_of_the_settings():
    adaptive = Settings(precision=0.05, max_time_s=3.0)
    assert set(criteria(adaptive, 0.5)) == {Precision(0.05), Time(1.5)}
    assert criteria(Settings(runs=7), 0.5) == (Count(7),)
    assert set(criteria(Settings(runs=7, max_time_s=3.0), 0.25)) == {Count(7), Time(0.75)}
    assert set(criteria(Settings(), 0.5)) == {Precision(0.02), Time(MAX_TIME_S / 2)}


def test_ten_samples_take_half_of_the_time():
    assert most_loops(0.05, 0.0001) == 25
    assert most_loops(0.05, 1.0) == 1
    assert most_loops(math.inf, 0.0001) == sys.maxsize
