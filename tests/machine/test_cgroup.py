"""Limits on CPU time and memory, in both versions of control groups."""

import math

import pytest

from opperf.machine.health.contention import cpu_quota
from opperf.machine.kernel import Quota, Unreadable, free_memory, quota, whole_cpus

GROUP = "sys/fs/cgroup"
V2 = {"proc/self/cgroup": "0::/a/b"}


def v2(quota_us, group="a/b", period_us=100000):
    return {f"{GROUP}/{group}/cpu.max".replace("//", "/"): f"{quota_us} {period_us}"}


def v1(quota_us, folder, period_us=100000):
    return {
        f"{GROUP}/{folder}/cpu.cfs_quota_us": str(quota_us),
        f"{GROUP}/{folder}/cpu.cfs_period_us": str(period_us),
    }


def test_a_quota_is_of_its_period(faked):
    machine = faked(V2 | v2(30000, period_us=20000))
    assert quota(machine) == Quota(1.5, machine.sys / "fs/cgroup/a/b/cpu.max", "max")
    machine = faked({"proc/self/cgroup": "2:cpu:/c"} | v1(30000, "cpu/c", period_us=20000))
    assert quota(machine) == Quota(1.5, machine.sys / "fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1")


@pytest.mark.parametrize("outer, inner, least", [(3, 2, 2), (2, 3, 2), ("max", 3, 3)])
def test_the_least_limit_of_a_group_and_those_above_it_counts(faked, outer, inner, least):
    in_us = {number: number if number == "max" else number * 100000 for number in (outer, inner)}
    limit = quota(faked(V2 | v2(in_us[outer], "a") | v2(in_us[inner], "a/b")))
    assert limit.cpus == least


def test_the_root_counts_as_well(faked):
    assert quota(faked(V2 | v2("max") | v2(150000, ""))).cpus == 1.5


def test_groups_of_other_controllers_do_not_count(faked):
    files = {"proc/self/cgroup": "3:cpuset:/x\n2:memory,pids:/x\n1:name=systemd:/x"}
    limits = v1(50000, "cpuset/x") | v1(50000, "memory,pids/x") | v1(50000, "cpu/x")
    with pytest.raises(Unreadable, match="no control group"):
        quota(faked(files | limits))


def test_the_new_hierarchy_beside_the_old_ones(faked):
    files = {"proc/self/cgroup": "2:cpu,cpuacct:/old\n0::/new"}
    both = files | v1(300000, "cpu,cpuacct/old") | v2(200000, "unified/new")
    assert quota(faked(both)).cpus == 2
    assert quota(faked(files | v1(100000, "cpu/old"))).cpus == 1


def test_a_group_may_have_colons_in_its_name(faked):
    assert quota(faked({"proc/self/cgroup": "0::/a:b"} | v2(200000, "a:b"))).cpus == 2


def test_a_group_that_nothing_limits_in_the_old_version(faked):
    assert quota(faked({"proc/self/cgroup": "2:cpu:/c"} | v1(-1, "cpu/c"))) is None


@pytest.mark.parametrize(
    "quota_us, cpus", [("max", 4), (50000, 1), (199999, 1), (200000, 2), (800000, 4)]
)
def test_cpus_that_threads_may_keep_busy(faked, quota_us, cpus):
    assert whole_cpus(faked(V2 | v2(quota_us))) == cpus


def test_without_a_group_all_usable_cpus_may_be_busy(faked):
    assert whole_cpus(faked()) == 4


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
    found = cpu_quota(faked(V2 | v2(quota_us), cpus=range(2, 6)))
    assert (found.level, found.fix) == (level, fix)


def test_how_often_it_was_used_up_is_shown_if_the_kernel_counts_it(faked):
    def state(stat):
        return cpu_quota(faked(V2 | v2(250000) | {f"{GROUP}/a/b/cpu.stat": stat})).state

    assert state("usage_usec 5\nuser_usec 5") == "2.5 CPUs for 4 usable"
    assert state("nr_periods 9\nnr_throttled 3") == (
        "2.5 CPUs for 4 usable, used up in 3 of 9 periods"
    )


def memory(limit, used, folder="a/b"):
    return {f"{GROUP}/{folder}/memory.max": limit, f"{GROUP}/{folder}/memory.current": used}


@pytest.mark.parametrize(
    ("files", "free"),
    [
        (V2, math.inf),
        (V2 | memory("max", "5"), math.inf),
        (V2 | memory("9000", "5000"), 4000),
        (V2 | memory("9000", "5000") | memory("6000", "5500", "a"), 500),
        # More than the limit, as just after it was lowered.
        (V2 | memory("9000", "9500"), 0),
        (
            {
                "proc/self/cgroup": "5:memory:/c\n2:cpu:/c",
                f"{GROUP}/memory/c/memory.limit_in_bytes": "9000",
                f"{GROUP}/memory/c/memory.usage_in_bytes": "2000",
            },
            7000,
        ),
    ],
)
def test_the_memory_below_the_least_limit(faked, files, free):
    assert free_memory(faked(files)) == free
