"""Fixed work, timed between an operator's calls."""

import time

import pytest

from opperf.profilers import pace
from opperf.profilers.pace import WORKS, Pace


def test_the_median_of_each_work():
    timed = Pace()
    for _ in range(5):
        timed()
    medians = timed.medians()
    assert medians.keys() == WORKS.keys()
    # Fast enough to stand between calls, slow enough for the clock.
    assert all(500 < ns < 1e7 for ns in medians.values())


def test_only_the_second_time_counts(monkeypatch):
    calls = []

    def work():
        calls.append(None)
        time.sleep(0.05 if len(calls) % 2 else 0.0)

    monkeypatch.setattr(pace, "WORKS", {"slow at first": work})
    timed = Pace()
    timed()
    timed()
    assert len(calls) == 4 and timed.medians()["slow at first"] < 0.04e9


def test_what_is_forgotten():
    timed = Pace()
    timed()
    timed.forget()
    with pytest.raises(ValueError, match="no work was timed"):
        timed.medians()
