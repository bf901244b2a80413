"""The jitter test, on a clock that goes as it is told."""

from array import array

import pytest

from opperf.runner.health import jitter
from opperf.runner.health.jitter import jitter_finding, jitter_of, quantum, repeated


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
    assert repeated(1e-4, clock.work, clock) == array("q", [30_000] + [20_000] * 4)
    assert len(repeated(1e-9, clock.work, clock)) == 1


def test_a_quantum_is_as_long_as_it_is_to_be(monkeypatch):
    clock = Clock(0)
    monkeypatch.setattr(jitter, "_spin", lambda rounds: setattr(clock, "now", clock.now + rounds))
    work = quantum(clock)
    assert jitter.QUANTUM_NS <= jitter._timed(work, clock) < 2 * jitter.QUANTUM_NS


def test_a_steady_core_is_well():
    steady = jitter_of(array("q", [20_000, 21_000] * 500))
    assert (steady.quanta, steady.least_ns, steady.median_ns) == (1000, 20_000, 20_500)
    assert (steady.lost_share, steady.interruptions_per_s, steady.largest_ns) == (0, 0, 21_000)
    assert steady.seconds == pytest.approx(0.0205)
    one = jitter_finding(steady)
    assert (one.level, one.mend) == ("ok", "") and "0 interruptions a second" in one.state


def test_neighbouring_slow_quanta_are_one_interruption():
    times = [20_000] * 94 + [50_000, 40_000] + [20_000] * 3 + [1_000_000]
    rough = jitter_of(array("q", times))
    total = sum(times)
    assert rough.interruptions_per_s == pytest.approx(2 / (total / 1e9))
    # Beyond one and a half times the quickest, 30 us.
    assert rough.lost_share == pytest.approx((20_000 + 10_000 + 970_000) / total)
    assert rough.largest_ns == 1_000_000 and rough.median_ns == 20_000
    one = jitter_finding(rough)
    assert one.level == "warn" and one.mend.startswith("ps ")
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
