"""When sampling ends, and what it does until then, with clocks made up."""

import itertools

import numpy as np
import pytest

from opperf.frameworks.base import Timed
from opperf.model import Settings
from opperf.profilers.sampling import loops_for, sampled, warm_up
from opperf.profilers.stopping import (
    LEAST_RUNS,
    LEAST_SAMPLES,
    Count,
    Precision,
    Taken,
    Time,
    criteria,
)
from opperf.profilers.summary import half_width


class Trace:
    """A profiler whose samples are drawn, a call taking some 1000 ns."""

    resolution_ns = 10.0

    def __init__(self, spread=0.1, phases=1, seed=0):
        self.rng, self.spread, self.phases = np.random.default_rng(seed), spread, phases
        self.batches = []

    def trace(self, phases, count, loops=1):
        self.batches.append((count, loops))
        return [
            Timed(*[self.rng.normal(1000, 1000 * self.spread, count).tolist()] * 3)
            for _ in range(self.phases)
        ]


def sample(traces, *wanted, phases=1, call_s=1e-6, loops=1):
    return sampled(traces, [lambda: None] * phases, phases - 1, wanted, call_s, loops)


@pytest.mark.parametrize("spread", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_precision_is_reached_and_not_by_much(spread, share):
    traces = Trace(spread)
    (timed,) = sample(traces, Precision(share)).phases
    assert half_width(timed.times) <= share
    before = timed.times[: -traces.batches[-1][0]]
    assert len(before) < LEAST_SAMPLES or half_width(before) > share


def test_the_interval_that_ended_it_still_covers_the_median():
    covered = 0
    for seed in range(400):
        (timed,) = sample(Trace(0.1, seed=seed), Precision(0.02)).phases
        middle = np.median(timed.times)
        covered += abs(1000 / middle - 1) <= 0.02
    # 95 % less what stopping early costs; it is 90 % without a least number of samples.
    assert covered / 400 > 0.92


def test_count_is_kept_in_one_batch():
    traces = Trace()
    (timed,) = sample(traces, Count(37)).phases
    assert len(timed.times) == 37 and traces.batches == [(37, 1)]


def test_time_ends_it_after_a_few_runs_at_least(monkeypatch):
    clock = itertools.count(0.0, 10.0)
    monkeypatch.setattr("opperf.profilers.sampling.time.perf_counter", lambda: next(clock))
    (timed,) = sample(Trace(), Time(1.0), Precision(1e-9), call_s=10.0).phases
    assert len(timed.times) == LEAST_RUNS


def test_the_first_to_be_met_ends_it():
    (timed,) = sample(Trace(0.001), Precision(0.05), Count(500)).phases
    assert len(timed.times) == LEAST_SAMPLES
    (timed,) = sample(Trace(0.5), Precision(0.0001), Count(25)).phases
    assert len(timed.times) == 25


def test_all_phases_have_as_many_samples():
    done = sample(Trace(phases=2), Precision(0.02), phases=2)
    first, second = (len(timed.times) for timed in done.phases)
    assert first == second >= LEAST_SAMPLES


def test_a_phase_without_kernels_ends_at_once():
    class Silent(Trace):
        def trace(self, phases, count, loops=1):
            super().trace(phases, count, loops)
            return [Timed([], [1.0] * count, [])]

    traces = Silent()
    (timed,) = sample(traces, Precision(0.02)).phases
    assert timed.times == [] and sum(count for count, _ in traces.batches) == LEAST_SAMPLES


def test_criteria_are_those_of_the_settings():
    adaptive = Settings(precision=0.05, max_time_s=1.0)
    assert set(criteria(adaptive, 0.5)) == {Precision(0.05), Time(0.5)}
    assert criteria(Settings(runs=7), 0.5) == (Count(7),)
    assert set(criteria(Settings(runs=7, max_time_s=2.0), 0.5)) == {Count(7), Time(1.0)}


def test_room_is_what_is_left():
    assert Count(10).room(Taken([], 4, 0.0), 1.0) == 6
    assert Time(10.0).room(Taken([], 4, 4.0), 2.0) == 3
    assert Time(10.0).room(Taken([], 1, 40.0), 2.0) == LEAST_RUNS - 1
    assert Precision(0.1).room(Taken([], 0, 0.0), 1.0) == LEAST_SAMPLES


@pytest.mark.parametrize(("call_s", "loops"), [(1e-6, 10), (1.0, 1)])
def test_a_sample_is_long_against_the_clocks_steps(call_s, loops):
    # 1000 steps of 10 ns are ten calls of 1000 ns; a call of a second needs no company.
    assert loops_for(Trace(0.001), [lambda: None], 0, call_s) == loops


def test_a_sample_is_not_long_for_those_who_wait():
    class Dispatch(Trace):
        def trace(self, phases, count, loops=1):
            return [Timed([10.0] * count, [1e6] * count, [10.0] * count)]

    # 1000 calls would be a sample, and take a second.
    assert loops_for(Dispatch(), [lambda: None], 0, 1e-3) == 20


def takes(clock, seconds):
    """A phase that takes these seconds, one after the other, the last one ever after."""
    left = list(seconds)

    def phase():
        clock[0] += left.pop(0) if len(left) > 1 else left[0]

    return phase


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("opperf.profilers.sampling.time.perf_counter", lambda: now[0])
    return now


def test_it_warms_up_until_calls_get_no_faster(clock):
    seconds = [2.0**-i for i in range(12)]
    call_s = warm_up([takes(clock, seconds)], lambda: None, 2.0, 1e9, None)
    assert call_s == pytest.approx(seconds[-1])


def test_it_warms_up_no_longer_than_its_share(clock):
    warm_up([takes(clock, [1.0])], lambda: None, 1.0, 3.5, None)
    assert clock[0] == pytest.approx(4.0)
    before = clock[0]
    warm_up([takes(clock, [1.0])], lambda: None, 5.0, 3.5, None)
    assert clock[0] == before, "the first call took its share already"


@pytest.mark.parametrize("calls", [0, 1, 17])
def test_it_warms_up_so_many_calls_if_told(clock, calls):
    warm_up([takes(clock, [1.0])], lambda: None, 1.0, float("inf"), calls)
    assert clock[0] == calls
