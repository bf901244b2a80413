"""Reading the kernel's files, CPUs as it lists them, and the limits of control groups in both
versions."""

import math
from types import SimpleNamespace

import psutil
import pytest

from opperf.machine.kernel import (
    READ_BYTES,
    Quota,
    Unreadable,
    format_cpus,
    free_memory,
    parse_cpus,
    quota,
    read_number,
    read_text,
    usable_cpus,
    whole_cpus,
)

GROUP = "sys/fs/cgroup"
V2 = {"proc/self/cgroup": "0::/a/b"}


def test_a_file_that_takes_several_reads_is_read_whole(tmp_path):
    path = tmp_path / "file"
    path.write_text("x" * (2 * READ_BYTES + 1) + "\n")
    assert read_text(path) == "x" * (2 * READ_BYTES + 1)


def test_what_is_no_text_and_what_is_not_there(tmp_path):
    (tmp_path / "bytes").write_bytes(b" a\xff\n")
    assert read_text(tmp_path / "bytes") == "a\N{REPLACEMENT CHARACTER}"
    with pytest.raises(Unreadable, match="nothing: No such file"):
        read_text(tmp_path / "nothing")
    with pytest.raises(Unreadable, match="Is a directory"):
        read_text(tmp_path)


def test_files_do_not_stay_open(tmp_path):
    path = tmp_path / "file"
    path.write_text("1")
    before = psutil.Process().num_fds()
    for _ in range(3):
        assert read_number(path) == 1
    assert psutil.Process().num_fds() <= before


def test_cpus_are_asked_in_their_order_and_some_do_not_answer(faked):
    files = {f"sys/devices/system/cpu/cpu{cpu}/name": f"of {cpu}" for cpu in (0, 2, 10)}
    machine = faked(files, cpus=(10, 2, 1, 0))
    assert list(machine.read_each_cpu("name")) == ["of 0", "of 2", "of 10"]


def test_usable_cpus_are_those_of_the_process_if_it_says_so(monkeypatch):
    bound, free = SimpleNamespace(cpu_affinity=lambda: [1, 3]), SimpleNamespace()
    monkeypatch.setattr(psutil, "Process", lambda: bound)
    assert usable_cpus() == {1, 3}
    monkeypatch.setattr(psutil, "Process", lambda: free)
    for count, usable in ((3, {0, 1, 2}), (None, {0})):
        monkeypatch.setattr(psutil, "cpu_count", lambda count=count: count)
        assert usable_cpus() == usable


@pytest.mark.parametrize(
    "cpus, listed", [((3, 1, 2), "1-3"), ((0, 2, 4), "0,2,4"), ((7, 8), "7-8")]
)
def test_neighbours_are_listed_as_a_range(cpus, listed):
    assert format_cpus(cpus) == listed and parse_cpus(listed) == set(cpus)


@pytest.mark.parametrize("listed", ["x", "1-y", "0x1"])
def test_a_list_that_is_none(listed):
    with pytest.raises(ValueError):
        parse_cpus(listed)


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
