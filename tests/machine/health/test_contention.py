"""Where quiet ends: each probe of what else runs, at its limit and just beyond it."""

import os
from types import SimpleNamespace

import psutil
import pytest

from opperf.machine.health.contention import (
    cpu_pressure,
    cpu_quota,
    cpu_times,
    load,
    memory,
    memory_pressure,
    steal,
)
from opperf.machine.kernel import CpuTimes, Unreadable

GIB_KB = 2**20


def levels(probe, *machines):
    return [probe.read(machine).level for machine in machines]


@pytest.mark.parametrize(
    ("cpus", "quiet", "busy"), [(1, 0.5, 0.51), (4, 0.5, 0.51), (20, 1.0, 1.01), (64, 3.2, 3.21)]
)
def test_half_a_thread_or_a_twentieth_of_the_cores_may_run(faked, cpus, quiet, busy):
    loads = (
        faked({"proc/loadavg": f"{value} 9 9 1/2 3"}, cpus=range(cpus)) for value in (quiet, busy)
    )
    assert [load.read(machine).level for machine in loads] == ["ok", "warn"]


@pytest.mark.parametrize(
    ("resource", "probe", "quiet", "busy"),
    [
        ("cpu", cpu_pressure, "5.00", "5.01"),
        # Half of the two percent that medians are known within.
        ("memory", memory_pressure, "1.00", "1.01"),
    ],
)
def test_how_long_threads_may_wait(faked, resource, probe, quiet, busy):
    def level(share):
        line = f"some avg10={share} avg60=99.00 avg300=99.00 total=1"
        return probe.read(faked({f"proc/pressure/{resource}": line})).level

    assert (level(quiet), level(busy)) == ("ok", "warn")


def test_only_the_line_of_some_threads_counts(faked):
    lines = "full avg10=90.00 avg60=1 avg300=1 total=1\nsome avg10=0.50 avg60=1 avg300=1 total=1"
    assert cpu_pressure.read(faked({"proc/pressure/cpu": lines})).state == "0.5% of the last 10 s"


def meminfo(total, available, swap=0, unswapped=0):
    """In kB, as the kernel has them."""
    return {
        "proc/meminfo": f"MemTotal: {total} kB\nMemFree: 1 kB\nMemAvailable: {available} kB\n"
        f"SwapTotal: {swap} kB\nSwapFree: {unswapped} kB"
    }


def test_a_tenth_of_the_memory_is_to_be_available(faked):
    assert memory.read(faked(meminfo(10 * GIB_KB, GIB_KB))).level == "ok"
    little = memory.read(faked(meminfo(10 * GIB_KB, GIB_KB - 1)))
    assert (little.level, little.state) == ("warn", "1.0 of 10.0 GiB available")


def test_what_nobody_uses_may_be_swapped_out_up_to_256_mebibytes(faked):
    unused = 256 * 2**10
    few = memory.read(faked(meminfo(8 * GIB_KB, 6 * GIB_KB, GIB_KB, GIB_KB - unused)))
    assert (few.level, few.state) == ("ok", "6.0 of 8.0 GiB available, 0.2 GiB swapped out")
    assert memory.read(
        faked(meminfo(8 * GIB_KB, 6 * GIB_KB, GIB_KB, GIB_KB - unused - 1))
    ).level == ("warn")


def test_little_memory_is_reported_before_swapped_memory(faked):
    both = memory.read(faked(meminfo(8 * GIB_KB, 1, 2 * GIB_KB, 0)))
    assert both.fix.startswith("ps ") and "2.0 GiB swapped out" in both.state


STAT = "cpu 1 2 4 8 16 32 64 128 256 512"
"""User, nice, system, idle, waiting for disks, interrupts of both kinds, stolen, and guests."""


TICKS = os.sysconf("SC_CLK_TCK")


def test_busy_is_all_but_idle_and_guests_which_are_counted_as_user_already(faked):
    faked({"proc/stat": STAT})
    busy, stolen = cpu_times()
    assert (busy * TICKS, stolen * TICKS) == pytest.approx((1 + 2 + 4 + 32 + 64 + 128, 128))


def test_where_no_hypervisor_is_known_of(monkeypatch):
    monkeypatch.setattr(psutil, "cpu_times", lambda: SimpleNamespace(user=1.0, system=1.0))
    with pytest.raises(Unreadable, match="does not count"):
        cpu_times()


def test_a_hundredth_may_be_stolen(faked):
    def found(user, stolen):
        return steal.read(faked({"proc/stat": f"cpu {user} 0 0 900 5 0 0 {stolen} 0 0"}))

    assert (found(990, 10).level, found(990, 10).state[:4]) == ("ok", "1.0%")
    assert found(989, 11).level == "warn"


def test_of_no_time_none_was_stolen(faked):
    machine = faked({"proc/stat": "cpu 0 0 0 900 0 0 0 0 0 0"})
    assert steal.read(machine).state == "0.0% of the busy time since boot"
    since = faked({"proc/stat": STAT}, since=CpuTimes(231 / TICKS, 128 / TICKS))
    assert steal.read(since).state == "0.0% of the busy time during the jitter test"


GROUP = "sys/fs/cgroup/a/b"


def limited(quota_us):
    return {"proc/self/cgroup": "0::/a/b", f"{GROUP}/cpu.max": f"{quota_us} 100000"}


@pytest.mark.parametrize(
    "quota_us, level, fix",
    [
        (400000, "ok", ""),
        (399999, "warn", "taskset -cp 2-4 $$"),
        (100000, "warn", "taskset -cp 2 $$"),
        (99999, "warn", "echo max | sudo tee /sys/fs/cgroup/a/b/cpu.max"),
    ],
)
def test_as_many_cpus_as_the_quota_has_whole_ones_never_use_it_up(faked, quota_us, level, fix):
    found = cpu_quota.read(faked(limited(quota_us), cpus=range(2, 6)))
    assert (found.level, found.fix) == (level, fix)


def test_how_often_it_was_used_up_is_shown_if_the_kernel_counts_it(faked):
    def state(stat):
        return cpu_quota.read(faked(limited(250000) | {f"{GROUP}/cpu.stat": stat})).state

    assert state("usage_usec 5\nuser_usec 5") == "2.5 CPUs for 4 usable"
    assert state("nr_periods 9\nnr_throttled 3") == (
        "2.5 CPUs for 4 usable, used up in 3 of 9 periods"
    )
