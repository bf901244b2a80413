"""The jitter test, on a clock that the tests set."""

from array import array
from types import SimpleNamespace

import pytest

from opperf.machine.health import jitter
from opperf.machine.health.jitter import (
    Jitter,
    Timer,
    jitter_finding,
    jitter_of,
    make_quantum,
    repeat_for,
    timer,
    timer_finding,
)


class Clock:
    """Stands still but for the work, which takes the times it is given, the last one for ever."""

    def __init__(self, *takes):
        self.now, self.takes = 0, list(takes)

    def __call__(self):
        return self.now

    def work(self):
        self.now += self.takes.pop(0) if len(self.takes) > 1 else self.takes[0]


def test_work_is_repeated_for_so_many_seconds_and_once_at_least():
    clock = Clock(30_000, 20_000)
    assert repeat_for(1e-4, clock.work, clock) == array("q", [30_000] + [20_000] * 4)
    assert len(repeat_for(1e-9, clock.work, clock)) == 1


def test_a_quantum_is_as_long_as_it_is_to_be(monkeypatch):
    clock = Clock(0)
    monkeypatch.setattr(jitter, "_spin", lambda rounds: setattr(clock, "now", clock.now + rounds))
    work = make_quantum(clock)
    assert jitter.QUANTUM_NS <= jitter._timed(work, clock) < 2 * jitter.QUANTUM_NS


def test_of_each_amount_of_work_the_quickest_of_fifty_tries_counts(monkeypatch):
    clock, tries = Clock(0), []

    def interrupted(rounds):
        tries.append(rounds)
        clock.now += rounds + (0 if len(tries) % 50 == 0 else 10**9)

    monkeypatch.setattr(jitter, "_spin", interrupted)
    work = make_quantum(clock)
    assert work.args == (2**15,), "the first power of two that takes 20 us"
    assert tries == [2**power for power in range(16) for _ in range(50)]


def test_a_steady_core_is_well():
    steady = jitter_of(array("q", [20_000, 21_000] * 500))
    assert (steady.quanta, steady.least_ns, steady.median_ns) == (1000, 20_000, 20_500)
    assert (steady.lost_share, steady.interruptions_per_s, steady.largest_ns) == (0, 0, 21_000)
    assert steady.seconds == pytest.approx(0.0205)
    one = jitter_finding(steady)
    assert (one.level, one.fix) == ("ok", "") and "0 interruptions a second" in one.state


def test_neighbouring_slow_quanta_are_one_interruption():
    times = [20_000] * 94 + [50_000, 40_000] + [20_000] * 3 + [1_000_000]
    rough = jitter_of(array("q", times))
    total = sum(times)
    assert rough.interruptions_per_s == pytest.approx(2 / (total / 1e9))
    # Beyond one and a half times the quickest, 30 us.
    assert rough.lost_share == pytest.approx((20_000 + 10_000 + 970_000) / total)
    assert rough.largest_ns == 1_000_000 and rough.median_ns == 20_000
    one = jitter_finding(rough)
    assert one.level == "warn" and one.fix.startswith("ps ")
    assert "33.00% of 0.0 s lost" in one.state and "worst 1.00 ms" in one.state


def test_a_slow_hundredth_is_noisy_without_any_interruption():
    wandering = jitter_of(array("q", [20_000] * 90 + [28_000] * 10))
    assert wandering.interruptions_per_s == 0 and wandering.p99_ratio == pytest.approx(1.4)
    assert jitter_finding(wandering).level == "warn"


def test_a_coarse_clock_is_noisy():
    assert jitter.timer_finding(jitter.Timer(60.0, 1.0)).level == "ok"
    coarse = jitter.timer_finding(jitter.Timer(15_000.0, 1e6))
    assert coarse.level == "warn"
    assert coarse.state == "15000 ns between two readings, 1e+06 ns announced"


@pytest.mark.parametrize("time_ns, interruptions", [(30_000, 0), (30_001, 1)])
def test_interrupted_is_what_takes_more_than_one_and_a_half_times_the_quickest(
    time_ns, interruptions
):
    found = jitter_of(array("q", [20_000] * 10 + [time_ns]))
    seconds = (10 * 20_000 + time_ns) / 1e9
    assert found.interruptions_per_s == pytest.approx(interruptions / seconds)
    assert found.lost_share == pytest.approx(interruptions * 1 / (seconds * 1e9))


def test_the_first_quantum_may_be_interrupted_as_well():
    found = jitter_of(array("q", [50_000, 20_000, 50_000]))
    assert found.interruptions_per_s == pytest.approx(2 / 120e-6)
    assert (found.least_ns, found.largest_ns, found.quanta) == (20_000, 50_000, 3)


def measured(**changed):
    quiet = {
        "seconds": 2.04,
        "quanta": 100,
        "least_ns": 20_000.0,
        "median_ns": 20_460.0,
        "p99_ratio": 1.1,
        "largest_ns": 1_234_567.0,
        "lost_share": 0.0012,
        "interruptions_per_s": 12.4,
    }
    return Jitter(**quiet | changed)


@pytest.mark.parametrize(
    "changed, level",
    [
        ({"lost_share": 0.01}, "ok"),
        ({"lost_share": 0.0101}, "warn"),
        ({"p99_ratio": 1.25}, "ok"),
        ({"p99_ratio": 1.26}, "warn"),
        ({"largest_ns": 1e9, "interruptions_per_s": 1e4}, "ok"),
    ],
)
def test_a_hundredth_may_be_lost_and_the_slowest_may_take_a_quarter_longer(changed, level):
    assert jitter_finding(measured(**changed)).level == level


def test_the_finding_has_shares_in_percent_and_times_in_micro_and_milliseconds():
    assert jitter_finding(measured()).state == (
        "0.12% of 2.0 s lost, 12 interruptions a second; 99th percentile 1.10 times the median of "
        "20.5 us, worst 1.23 ms"
    )


def test_without_a_test_the_finding_says_so():
    one = jitter_finding(None)
    assert (one.level, one.state, one.fix) == ("unknown", "not measured: --seconds 0", "")


@pytest.mark.parametrize("step_ns, level", [(1000.0, "ok"), (1001.0, "warn")])
def test_a_step_of_more_than_a_microsecond_is_coarse(step_ns, level):
    assert timer_finding(Timer(step_ns, 1.0)).level == level


def test_the_step_that_the_system_announces_is_in_nanoseconds(monkeypatch):
    said = {"perf_counter": SimpleNamespace(resolution=1e-6)}
    monkeypatch.setattr(jitter.time, "get_clock_info", said.__getitem__)
    monkeypatch.setattr(jitter, "resolution_ns", lambda: 42.0)
    found = timer()
    assert (found.step_ns, found.announced_ns) == (42.0, pytest.approx(1000))
