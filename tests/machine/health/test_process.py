"""Cores, threads and addresses of a process, where one setting ends and the next begins."""

import pytest

from opperf.machine.health.processor import affinity, aslr, threads

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node/node"


def nodes(*lists):
    return {f"{NODE}{number}/cpulist": listed for number, listed in enumerate(lists)}


@pytest.mark.parametrize(
    "lists, state, fix",
    [
        (["0-3"], "all of 4 CPUs", ""),
        (["0-3", "", "8-11"], "all of 4 CPUs", ""),
        (["0,3", "1-2"], "all of 4 CPUs, on 2 memory nodes", "taskset -cp 0,3 $$"),
        (["0", "1-3"], "all of 4 CPUs, on 2 memory nodes", "taskset -cp 1-3 $$"),
        (["0-2", "3", "4-99"], "all of 4 CPUs, on 2 memory nodes", "taskset -cp 0-2 $$"),
        (["0", "1", "2-3"], "all of 4 CPUs, on 3 memory nodes", "taskset -cp 2-3 $$"),
    ],
)
def test_memory_nodes_are_those_of_usable_cpus(faked, lists, state, fix):
    found = affinity(faked({f"{CPU}/online": "0-3"} | nodes(*lists)))
    assert (found.state, found.fix) == (state, fix)
    assert found.level == ("warn" if fix else "ok")


def test_a_single_cpu(faked):
    assert affinity(faked({f"{CPU}/online": "0"}, cpus=[0])).state == "all of 1 CPU"
    found = affinity(faked({f"{CPU}/online": "0-1"}, cpus=[1]))
    # Which one is a field of the environment.
    assert (found.state, found.short) == ("1 of 2 CPUs, 1", "1 of 2 CPUs")


GROUP = {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "200000 100000"}
"""Room for two threads on four CPUs."""


@pytest.mark.parametrize(
    "settings, level, state",
    [
        ({"OMP_PROC_BIND": "true"}, "warn", "OMP_PROC_BIND=true; 4 threads each, room for 2"),
        ({"OMP_NUM_THREADS": " 2 , 8"}, "ok", "OMP_NUM_THREADS= 2 , 8"),
        ({"OMP_NUM_THREADS": "3,1"}, "warn", "OMP_NUM_THREADS=3,1; room for 2"),
        ({"OMP_NUM_THREADS": "-9"}, "ok", "OMP_NUM_THREADS=-9"),
        ({"KMP_AFFINITY": "99", "MKL_NUM_THREADS": "1"}, "ok", "KMP_AFFINITY=99, MKL_NUM_"),
    ],
)
def test_threads_and_the_room_that_a_quota_leaves(faked, settings, level, state):
    found = threads(faked(GROUP, settings=settings))
    assert found.level == level and found.state.startswith(state)


def test_a_usable_cpu_for_each_thread_is_room_enough(faked):
    assert threads(faked(GROUP, cpus=[0, 1])).state == "none set: libraries start 2 threads"


@pytest.mark.parametrize(
    "machine, process, state",
    [
        ("2", None, "on"),
        ("1", "00000000", "on"),
        ("2", "00020008", "on"),
        ("2", "00040008", "off for this process"),
        ("0", "00000000", "off"),
    ],
)
def test_addresses_are_random_unless_the_machine_or_the_process_says_no(
    faked, machine, process, state
):
    files = {"proc/sys/kernel/randomize_va_space": machine}
    if process is not None:
        # In hexadecimal digits; 0x0040000 is ADDR_NO_RANDOMIZE, the others are of no interest.
        files["proc/self/personality"] = process
    found = aslr(faked(files))
    assert (found.state, found.level) == (state, "warn" if state == "on" else "ok")
