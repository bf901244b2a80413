"""What is said to be left of a run, by sequences of cases whose times are known."""

import random

import pytest

from opperf.execution import progress as module
from opperf.execution.progress import Pace
from opperf.model import Record, Status


class Clock:
    """Stands in for the `time` module."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def left(monkeypatch, make_case):
    """Returns, after each case of a run, what it was said to take still, as a multiple of what it
    then took."""

    def ratios(times_s, costs_s=None, start_s=0.0, **options):
        clock = Clock()
        monkeypatch.setattr(module, "time", clock)
        case = make_case("relu")
        costs = iter(costs_s or [1.0] * len(times_s))
        total_s = sum(costs_s) if costs_s else float(len(times_s))
        pace = Pace(len(times_s), total_s, lambda _: next(costs), **options)
        clock.now += start_s
        found = []
        for number, time_s in enumerate(times_s, 1):
            clock.now += time_s
            pace.end(Record(case=case, id=case.id, status=Status.OK, wall_s=time_s))
            rest_s = sum(times_s[number:])
            found.append(pace.left_s() / rest_s if rest_s else pace.left_s())
        return found

    return ratios


def scattered(number, seed, spread=0.6):
    draw = random.Random(seed)
    return [draw.lognormvariate(0, spread) for _ in range(number)]


def test_a_steady_run_is_foretold(left):
    assert left([2.0] * 50, start_s=30.0) == [pytest.approx(1.0)] * 49 + [0.0]


@pytest.mark.parametrize("seed", range(5))
def test_a_forecast_that_was_ten_times_too_short_follows_within_a_tenth(left, seed):
    found = left([10 * time for time in scattered(400, seed)])
    assert all(0.6 < ratio < 1.6 for ratio in found[40:360])


@pytest.mark.parametrize("seed", range(5))
def test_load_that_triples_halfway_shows_within_a_tenth_of_the_run(left, seed):
    times = scattered(400, seed)
    slowed = [*times[:200], *(3 * time for time in times[200:])]
    found = left(slowed)
    # As nothing knew before.
    assert found[198] < 0.6
    assert all(0.5 < ratio < 1.7 for ratio in found[240:360])


def test_a_stalled_case_says_nothing_of_what_is_left(left):
    found = left([1.0] * 20 + [1000.0] + [1.0] * 39)
    assert found[20] < 2.5 and all(1.0 <= ratio < 1.5 for ratio in found[30:59])


def test_cases_that_are_expected_to_take_longer_count_for_more(left):
    costs = [1.0] * 30 + [20.0] * 10
    assert left([3 * cost for cost in costs], costs)[5] == pytest.approx(1.0)


def test_cases_that_follow_count_as_the_average(monkeypatch, make_case):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    pace, case = Pace(2), make_case("relu")
    assert pace.left_s() == 0.0
    clock.now += 5
    pace.end(Record(case=case, id=case.id, status=Status.OK))
    pace.extend(3)
    assert pace.left_s() == pytest.approx(20.0) and pace.text() == "5.0 s elapsed, about 20 s left"


def test_the_start_of_a_process_and_what_comes_later_are_left_too(monkeypatch, make_case):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    # Visits of six seconds, of which four are the start of a process, that were forecast as two.
    pace = Pace(8, 16.0, lambda case: 2.0, later_s=20.0, starts=True)
    case = make_case("relu")
    for _ in range(8):
        clock.now += 6
        pace.end(Record(case=case, id=case.id, status=Status.OK, wall_s=2.0))
    assert pace.left_s() == pytest.approx(60.0)
    assert pace.text() == "48 s elapsed, about 1 min 00 s left"
