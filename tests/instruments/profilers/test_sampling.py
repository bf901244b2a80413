"""What is sampled, with clocks made up."""

import random
from contextlib import nullcontext

import numpy as np
import pytest

from opperf.defaults import MIN_RUNS
from opperf.frameworks.timing import PhaseTimes
from opperf.instruments.profilers import sampling
from opperf.instruments.profilers.sampling import (
    MIN_ADAPTIVE_SAMPLES,
    Count,
    Precision,
    Time,
    loops_for,
    warm_up,
)
from opperf.instruments.profilers.summary import half_width


class Trace:
    """A profiler whose samples are drawn, a call taking some 1000 ns."""

    resolution_ns = 10.0

    def __init__(self, spread=0.1, phases=1, seed=0):
        self.rng, self.spread, self.phases = np.random.default_rng(seed), spread, phases
        self.batches = []

    def trace(self, phases, count, loops=1):
        self.batches.append((count, loops))
        return [
            PhaseTimes(*[self.rng.normal(1000, 1000 * self.spread, count).tolist()] * 3)
            for _ in range(self.phases)
        ]


class Clocked(Trace):
    """A profiler whose samples take a time that the clock shows."""

    def __init__(self, clock, sample_s):
        super().__init__()
        self.clock, self.sample_s = clock, sample_s

    def trace(self, phases, count, loops=1):
        self.clock.ns += round(count * self.sample_s * 1e9)
        return super().trace(phases, count, loops)


class Recorded(Trace):
    """A profiler that finds these times and walls, one pair of lists for each phase, over and over
    again."""

    def __init__(self, *phases):
        super().__init__()
        self.found = phases

    def trace(self, phases, count, loops=1):
        self.batches.append((count, loops))
        return [
            PhaseTimes(*([list(np.resize(times, count)) if times else [] for times in pair]), [])
            for pair in self.found
        ]


def sample(traces, *wanted, phases=1, call_s=1e-6, loops=1):
    return sampling.sample(traces, [lambda: None] * phases, phases - 1, wanted, call_s, loops)


@pytest.mark.parametrize("spread", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_precision_is_reached_and_not_by_much(spread, share):
    traces = Trace(spread)
    (timed,) = sample(traces, Precision(share)).phases
    assert half_width(timed.times) <= share
    before = timed.times[: -traces.batches[-1][0]]
    assert len(before) < MIN_ADAPTIVE_SAMPLES or half_width(before) > share


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
    done = sample(traces, Count(37), loops=4)
    (timed,) = done.phases
    assert len(timed.times) == len(timed.walls) == len(timed.calls) == 37
    assert traces.batches == [(37, 4)] and done.loops == 4


class Slow(Clocked):
    """A profiler that returns a single sample at a time."""

    def trace(self, phases, count, loops=1):
        return super().trace(phases, 1, loops)


def test_a_profiler_may_return_fewer_samples_than_asked_for(clock):
    traces = Slow(clock, 0.5)
    (timed,) = sample(traces, Count(20), Time(2.0), call_s=0.001).phases
    assert len(timed.times) == 4


def test_time_ends_it_after_a_few_runs_at_least(clock):
    (timed,) = sample(Clocked(clock, 10.0), Time(1.0), Precision(1e-9), call_s=10.0).phases
    assert len(timed.times) == MIN_RUNS


def test_a_batch_is_what_the_time_has_room_for_at_the_pace_so_far(clock):
    # A sample was thought to take 4 * 0.25 s, and takes half a second.
    clock.ns = 10**12
    traces = Clocked(clock, 0.5)
    sample(traces, Time(10.0), call_s=0.25, loops=4)
    assert [count for count, _ in traces.batches] == [10, 10]


def test_the_last_batch_is_a_single_sample_where_there_is_no_room_for_one(clock):
    traces = Clocked(clock, 3.0)
    sample(traces, Time(10.0), call_s=3.0)
    assert [count for count, _ in traces.batches] == [3, 1]


def test_no_more_calls_are_kept_than_are_needed(clock, monkeypatch):
    monkeypatch.setattr(sampling, "MOST_CALLS", 7)
    traces = Clocked(clock, 1.0)
    # Batches of 5, 2 and 2 samples, of a call each.
    (timed,) = sample(traces, Time(9.0), Precision(1e-9), call_s=1.8).phases
    assert timed.calls == timed.times[:7] and len(timed.times) == len(timed.walls) == 9


def test_the_first_to_be_met_ends_it():
    (timed,) = sample(Trace(0.001), Precision(0.05), Count(500)).phases
    assert len(timed.times) == MIN_ADAPTIVE_SAMPLES
    (timed,) = sample(Trace(0.5), Precision(0.0001), Count(25)).phases
    assert len(timed.times) == 25


def test_all_phases_have_as_many_samples():
    done = sample(Trace(phases=2), Precision(0.02), phases=2)
    first, second = (len(timed.times) for timed in done.phases)
    assert first == second >= MIN_ADAPTIVE_SAMPLES


def test_the_phase_that_is_asked_about_decides():
    wide, narrow = [500.0, 1500.0], [1000.0]
    done = sample(Recorded((wide, wide), (narrow, narrow)), Precision(0.02), phases=2)
    assert [len(timed.times) for timed in done.phases] == [MIN_ADAPTIVE_SAMPLES] * 2


def test_a_profiler_that_loses_a_phase_is_not_believed():
    with pytest.raises(ValueError, match="shorter"):
        sample(Trace(phases=1), Count(3), phases=2)


def test_a_phase_without_kernels_ends_at_once():
    traces = Recorded(([], [1.0]))
    (timed,) = sample(traces, Precision(0.02)).phases
    assert timed.times == [] and sum(count for count, _ in traces.batches) == MIN_ADAPTIVE_SAMPLES


@pytest.mark.parametrize(("call_ns", "loops"), [(1000.0, 10), (999.0, 11), (1e7, 1), (0.0, 1000)])
def test_a_sample_is_a_thousand_of_the_clocks_steps_long(call_ns, loops):
    # The steps are of 10 ns. A call that takes none of them is taken to take one.
    traces = Recorded(([call_ns], [1000.0]))
    assert loops_for(traces, [lambda: None], 0, 1e-6) == loops


def test_what_takes_no_time_at_all_has_long_samples():
    assert loops_for(Recorded(([0.0], [0.0])), [lambda: None], 0, 1e-6) == 1000


@pytest.mark.parametrize("odd", [9e6, 10.0])
def test_odd_calls_do_not_decide_how_long_a_sample_is(odd):
    # Two of the five calls that are tried are interrupted, or find nothing to do.
    times = [1000.0, odd]
    traces = Recorded((times, times))
    assert loops_for(traces, [lambda: None], 0, 1e-6) == 10


def test_a_sample_is_not_long_for_those_who_wait():
    # 1000 calls would be a sample, and take a second; in 20 ms there are 20 calls.
    waiting = ([10.0], [1e6])
    assert loops_for(Recorded(waiting), [lambda: None], 0, 1e-6) == 20
    # Every phase is waited for.
    assert loops_for(Recorded(waiting, waiting), [lambda: None] * 2, 1, 1e-6) == 10
    # One that takes longer than that is a sample by itself.
    assert loops_for(Recorded(([10.0], [50e6])), [lambda: None], 0, 1e-6) == 1


def test_a_call_that_is_known_to_be_long_is_not_tried():
    traces = Recorded(([1000.0], [1000.0]))
    assert loops_for(traces, [lambda: None], 0, 0.0101) == 1 and not traces.batches
    assert loops_for(traces, [lambda: None], 0, 0.01) == 10 and traces.batches


def test_a_phase_without_kernels_needs_no_long_samples():
    assert loops_for(Recorded(([], [1000.0])), [lambda: None], 0, 1e-6) == 1


S = 10**9
"""A second, in nanoseconds."""


def test_it_warms_up_until_calls_get_no_faster(clock):
    times = [2**40 >> i for i in range(12)]
    warm = warm_up([clock.taking(*times)], lambda: None, times[0] / 1e9, 1e9, None)
    assert warm[0] == pytest.approx(times[-1] / 1e9)
    assert warm[1] == pytest.approx([*times, *times[-1:] * (len(warm[1]) - len(times))])


def test_phases_and_the_wait_are_what_a_time_through_them_takes(clock):
    phases = [clock.taking(2 * S), clock.taking(3 * S)]
    warm = warm_up(phases, clock.taking(S), 100.0, float("inf"), 3)
    # The last phase begins when the device has done the others.
    assert warm == (pytest.approx(7.0), pytest.approx([4 * S] * 3))
    assert clock.ns == 21 * S


@pytest.mark.parametrize(
    ("stretches", "calls"),
    [
        # The first of all calls was made before; two stretches of five tell that it is warm.
        ([1.0, 1.0], 9),
        ([1.0, 0.985], 9),
        ([1.0, 1.5], 9),
        ([1.0, 0.97, 0.96], 14),
        ([1.0, 0.97, 0.94, 0.94], 19),
    ],
)
def test_it_is_warm_when_a_stretch_gains_less_than_two_percent(clock, stretches, calls):
    # The quickest of a stretch counts: others are interrupted.
    times = [time * factor * S for time in stretches for factor in (1.2, 1.1, 1, 1.3, 1.1)]
    ran = []
    phase = clock.taking(*times[1:])
    warm = warm_up([phase, lambda: ran.append(None)], lambda: None, 1.2, float("inf"), None)
    assert len(ran) == len(warm[1]) == calls
    assert warm[0] == pytest.approx(stretches[-1])


def test_a_gain_of_just_two_percent_is_one(clock):
    warm_up([clock.taking(*[50 * S] * 4, 49 * S)], lambda: None, 50.0, float("inf"), None)
    assert clock.ns == (4 * 50 + 10 * 49) * S


@pytest.mark.parametrize(("most_s", "until_s"), [(3.5, 4.0), (3.0, 3.0)])
def test_it_warms_up_no_longer_than_its_share(clock, most_s, until_s):
    clock.ns = 1000 * S
    warm_up([clock.taking(S)], lambda: None, 1.0, most_s, None)
    assert clock.ns / S - 1000 == pytest.approx(until_s)


@pytest.mark.parametrize("first_s", [3.5, 5.0])
def test_it_does_not_warm_up_what_took_its_share_at_first(clock, first_s):
    assert warm_up([clock.taking(S)], lambda: None, first_s, 3.5, None) == (first_s, [])
    assert clock.ns == 0


@pytest.mark.parametrize("calls", [0, 1, 17, 1000])
def test_it_warms_up_so_many_calls_if_told(clock, calls):
    warm_up([clock.taking(S)], lambda: None, 1.0, float("inf"), calls)
    assert clock.ns == calls * S


def test_arms_are_sampled_in_turn_in_random_order():
    turns = []

    class Named(Trace):
        def __init__(self, name, factor):
            super().__init__()
            self.name, self.factor = name, factor

        def trace(self, phases, count, loops=1):
            turns.append((self.name, loops))
            return [PhaseTimes(*[[self.factor * (1000.0 + len(turns) // 9)] * count] * 3)]

    def ready(name, factor, loops):
        wanted = (Precision(0.01), Time(1e9))
        return sampling.Sampling("forward", Named(name, factor), [print], 0, wanted, 1e-6, loops)

    made = sampling.sample_in_turn(
        [ready("a", 1.0, 3), ready("b", 2.0, 5)], [nullcontext] * 2, random.Random(3)
    )
    a, b = (found.phases[0].times for found in made)
    assert [found.loops for found in made] == [3, 5]
    assert len(a) == len(b) == MIN_ADAPTIVE_SAMPLES
    assert np.median(np.divide(b, a)) == pytest.approx(2.0, rel=1e-2)
    # Each turn has a call that is not timed, and then a sample; each round has both arms.
    assert turns[::2] == [(name, 1) for name, _ in turns[1::2]]
    rounds = ["".join(name for name, _ in turns[at + 1 : at + 4 : 2]) for at in range(0, 40, 4)]
    assert set(rounds) == {"ab", "ba"}
