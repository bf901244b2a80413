"""The processor's probes where several CPUs or sensors say different things, and those of a
process: cores, threads and addresses."""

import pytest

from opperf.machine.health.processor import (
    affinity,
    aslr,
    clock_source,
    governor,
    smt,
    temperature,
    threads,
    turbo,
)
from opperf.machine.health.processor import virtualisation as hypervisor
from opperf.machine.kernel import Unreadable

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0"
ZONE = "sys/class/thermal/thermal_zone"
NODE = "sys/devices/system/node/node"


def of_each_cpu(name, *contents):
    return {f"{CPU}/cpu{cpu}/{name}": content for cpu, content in enumerate(contents)}


@pytest.mark.parametrize("millidegrees, level", [(84_999, "ok"), (85_000, "warn")])
def test_hot_is_from_85_degrees_on(faked, millidegrees, level):
    found = temperature.read(faked({f"{ZONE}0/temp": millidegrees}))
    assert found.level == level and found.state.startswith(f"{millidegrees // 1000} C ")


def test_the_hottest_sensor_counts_and_throttling_is_beside_it(faked):
    zones = {
        f"{ZONE}0/temp": "30000",
        f"{ZONE}1/temp": "60000",
        f"{ZONE}1/type": "pkg",
        f"{ZONE}2/temp": "50000",
    }
    never = of_each_cpu("thermal_throttle/core_throttle_count", 0, 0)
    once = of_each_cpu("thermal_throttle/core_throttle_count", 0, 1)
    cool = "60 C at the hottest sensor, pkg; cores were throttled"
    assert temperature.read(faked(zones | never)) == (f"{cool} 0 times since boot", "ok", "", "")
    assert temperature.read(faked(zones | once)) == (f"{cool} 1 time since boot", "warn", "", "")
    hot = {f"{ZONE}1/temp": "90000"}
    assert temperature.read(faked(zones | hot | never)).level == "warn"


def test_governors_of_cpus_that_are_not_used_do_not_matter(faked):
    files = of_each_cpu("cpufreq/scaling_governor", "performance", "powersave")
    assert governor.read(faked(files, cpus=[0])).level == "ok"
    mixed = governor.read(faked(files))
    assert mixed.state == "performance on 1 CPU, powersave on 1 CPU" and mixed.level == "warn"


@pytest.mark.parametrize(
    "no_turbo, boost, state", [("1", "1", "off"), ("0", "0", "on"), (None, "1", "on")]
)
def test_intels_switch_is_asked_before_the_general_one(faked, no_turbo, boost, state):
    files = {f"{CPU}/cpufreq/boost": boost}
    if no_turbo is not None:
        files[f"{CPU}/intel_pstate/no_turbo"] = no_turbo
    assert turbo.read(faked(files)).state == state


def test_cores_are_counted_among_usable_cpus(faked):
    files = {f"{CPU}/smt/active": "1"}
    files |= of_each_cpu("topology/thread_siblings_list", "0-1", "0-1", "2-3", "2-3")
    assert smt.read(faked(files, cpus=[0, 2])).level == "ok"
    assert smt.read(faked(files, cpus=[0, 1, 2])).state == "on, 3 usable CPUs are 2 cores"
    assert smt.read(faked(files | {f"{CPU}/smt/active": "0"})).state == "off"


@pytest.mark.parametrize("name", ["tsc", "arch_sys_counter", "kvm-clock"])
def test_clocks_that_need_no_system_call(faked, name):
    assert clock_source.read(faked({f"{CLOCK}/current_clocksource": name})) == (name, "ok", "", "")


def test_the_first_clock_that_is_better_is_recommended(faked):
    found = clock_source.read(
        faked(
            {
                f"{CLOCK}/current_clocksource": "hpet",
                f"{CLOCK}/available_clocksource": "hpet acpi_pm kvm-clock tsc",
            }
        )
    )
    assert found.fix.startswith("echo kvm-clock | sudo tee ")


def test_the_first_cpus_flags_are_those_of_all(faked):
    def state(content):
        return hypervisor.read(faked({"proc/cpuinfo": content})).state

    assert state("model: flags\nflags\t: fpu\nflags\t: hypervisor") == "none"
    assert state("flags\t: fpu hypervisor vme\nflags\t: fpu") == "virtual machine"
    with pytest.raises(Unreadable):
        state("model name: hypervisor")


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
    found = affinity.read(faked({f"{CPU}/online": "0-3"} | nodes(*lists)))
    assert (found.state, found.fix) == (state, fix)
    assert found.level == ("warn" if fix else "ok")


def test_a_single_cpu(faked):
    assert affinity.read(faked({f"{CPU}/online": "0"}, cpus=[0])).state == "all of 1 CPU"
    found = affinity.read(faked({f"{CPU}/online": "0-1"}, cpus=[1]))
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
    found = threads.read(faked(GROUP, settings=settings))
    assert found.level == level and found.state.startswith(state)


def test_a_usable_cpu_for_each_thread_is_room_enough(faked):
    assert threads.read(faked(GROUP, cpus=[0, 1])).state == "none set: libraries start 2 threads"


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
    found = aslr.read(faked(files))
    assert (found.state, found.level) == (state, "warn" if state == "on" else "ok")
