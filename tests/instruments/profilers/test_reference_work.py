"""Fixed work, timed between an operator's calls."""

from statistics import StatisticsError

import pytest

from opperf.instruments.profilers import reference_work
from opperf.instruments.profilers.reference_work import WORKS, ReferenceWork, middle_mean


def test_each_work_is_timed():
    timed = ReferenceWork()
    timed()
    means = timed.means()
    assert means.keys() == WORKS.keys() and all(ns > 0 for ns in means.values())


def test_only_the_second_time_counts(clock, monkeypatch):
    works = {"slow at first": clock.taking(9000, 100, 9000, 200), "steady": clock.taking(50)}
    monkeypatch.setattr(reference_work, "WORKS", works)
    timed = ReferenceWork()
    clock.ns = 10**9
    timed()
    timed()
    assert timed.means() == pytest.approx({"slow at first": 150.0, "steady": 50.0})


def test_what_is_forgotten(clock, monkeypatch):
    monkeypatch.setattr(reference_work, "WORKS", {"work": clock.taking(900, 900, 100)})
    timed = ReferenceWork()
    with pytest.raises(StatisticsError):
        timed.means()
    timed()
    timed.forget()
    with pytest.raises(ValueError):
        timed.means()
    timed()
    assert timed.means() == pytest.approx({"work": 100.0})


def test_a_middle_mean_has_its_share_of_every_pace_and_nothing_of_interruptions():
    # A core that was slow for two fifths of the calls, and interrupted in two of fifty.
    calls = [20.0] * 29 + [30.0] * 19 + [5000.0] * 2
    assert 23.0 < middle_mean(calls) < 25.0


def test_a_middle_mean_leaves_out_a_tenth_at_each_end():
    assert middle_mean([1.0, *range(20, 28), 5000.0]) == pytest.approx(23.5)
    # Of fewer than ten, a tenth is none.
    assert middle_mean([1.0, 2.0, 9.0]) == pytest.approx(4.0)
