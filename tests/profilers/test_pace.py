"""Fixed work, timed between an operator's calls."""

import time

import pytest

from opperf.profilers import pace
from opperf.profilers.pace import WORKS, Pace, middle_mean


def test_the_middle_mean_of_each_work():
    timed = Pace()
    for _ in range(5):
        timed()
    means = timed.means()
    assert means.keys() == WORKS.keys()
    # Fast enough to stand between calls, slow enough for the clock.
    assert all(500 < ns < 1e7 for ns in means.values())


def test_only_the_second_time_counts(monkeypatch):
    calls = []

    def work():
        calls.append(None)
        time.sleep(0.05 if len(calls) % 2 else 0.0)

    monkeypatch.setattr(pace, "WORKS", {"slow at first": work})
    timed = Pace()
    timed()
    timed()
    assert len(calls) == 4 and timed.means()["slow at first"] < 0.04e9


def test_what_is_forgotten():
    timed = Pace()
    timed()
    timed.forget()
    with pytest.raises(ValueError, match="no work was timed"):
        timed.means()


def test_a_middle_mean_has_its_share_of_every_pace_and_nothing_of_interruptions():
    # A core that was slow for two fifths of the calls, and interrupted in two of fifty.
    calls = [20.0] * 29 + [30.0] * 19 + [5000.0] * 2
    assert 23.0 < middle_mean(calls) < 25.0
